package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/store"
)

// SchemaError says that the table of locks is missing, is not as this version of the module needs it, or is closed to
// this user.
type SchemaError struct {
	Table   string
	Problem string
}

// Error implements error.
func (e *SchemaError) Error() string { return fmt.Sprintf("table %s %s", e.Table, e.Problem) }

var errStandby = errors.New(StandbyProblem)

// StandbyProblem is what is wrong with a standby.
const StandbyProblem = "the server is a standby, on which no lock can be taken: let the pool connect to the primary " +
	"(target_session_attrs=read-write)"

// problem is the error of the first request, if the table cannot be used.
func (found *Site) problem(table Table) error {
	if found.Standby {
		return &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errStandby}
	}
	text, right := found.Problem()
	if text == "" {
		return nil
	}
	return &store.Failure{
		Fault: store.FaultDefinite, Answered: true, Denied: right,
		Err: &SchemaError{Table: string(table), Problem: text},
	}
}

// Problem is what is wrong with the table; "": nothing. Right says that a right is missing.
func (found *Site) Problem() (text string, right bool) {
	var lacks, rights []string
	for _, c := range columns {
		if !slices.Contains(found.Columns, c) {
			lacks = append(lacks, c)
		}
	}
	for right, has := range map[string]bool{"SELECT": found.Reads, "INSERT": found.Inserts, "UPDATE": found.Updates} {
		if !has {
			rights = append(rights, right)
		}
	}
	slices.Sort(rights)
	switch {
	case found.Hidden != "":
		return "cannot be looked for by this user (" + found.Hidden + "): GRANT USAGE on its schema", true
	case !found.Table:
		return "does not exist, or is in a schema that is closed to this user: create it by the statement that " +
			"pglock.Migration returns", false
	case len(lacks) > 0:
		return "is not the table of this version: it has no column " + strings.Join(lacks, ", ") +
			"; pglock.Migration returns the statement that makes it", false
	case !found.Permanent:
		return "is UNLOGGED or temporary, so that a crash of the server would forget who holds what: make it " +
			"permanent, by ALTER TABLE ... SET LOGGED", false
	case len(rights) > 0:
		return "cannot be used by this user: GRANT " + strings.Join(rights, ", ") + " on it", true
	}
	return "", false
}
