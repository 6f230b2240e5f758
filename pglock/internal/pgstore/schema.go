package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

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

// Problem is what is wrong with the table, and by which statement an administrator mends it; "": nothing is wrong.
// Right says that a right is missing.
func (found *Site) Problem() (text string, right bool) {
	switch {
	case found.Hidden != "" && strings.Contains(found.Hidden, "wal"):
		return "cannot be used by this user (" + found.Hidden + "): GRANT EXECUTE ON FUNCTION " +
			"pg_catalog.pg_current_wal_lsn(), pg_catalog.pg_walfile_name(pg_lsn) to it", true
	case found.Hidden != "":
		return "cannot be looked for by this user (" + found.Hidden + "): GRANT USAGE on its schema", true
	case found.Table == "":
		return found.absent(), false
	}
	if text = found.shape(); text != "" {
		return text, false
	}
	text = found.rights()
	return text, text != ""
}

// absent is what is said if there is no table. A table that was there is not to be made anew: the old one has the
// locks.
func (found *Site) absent() string {
	text := fmt.Sprintf("does not exist, or is in a schema that is closed to this user (search_path is %s)", found.Path)
	switch {
	case found.known:
		return "is gone, or its schema is closed to this user: give it its name again, for clients may " +
			"hold locks by it, or GRANT USAGE on its schema"
	case len(found.Elsewhere) == 0:
		return text + ": call pglock.Migrate, or execute what pglock.Migrations returns"
	}
	return text + "; there is one of that name in the schema " + strings.Join(found.Elsewhere, ", ") +
		": name the schema, too, in Options.Table of all clients, and GRANT USAGE on it"
}

// shape is what is wrong with the table itself.
func (found *Site) shape() string {
	names := make([]string, len(found.Columns))
	for i, c := range found.Columns {
		names[i], _, _ = strings.Cut(c, " ")
	}
	behind := changes.behind(found.Name(), append(names, changes.optional()...))
	other := found.others()
	switch {
	case found.Kind != "r":
		return "is not an ordinary table without others that inherit from it (pg_class.relkind is " + found.Kind +
			"), so that a name need not be unique: rename it, and create the table by pglock.Migrate"
	case behind != "":
		return behind
	case len(other) > 0:
		return "is not as pglock.Migrations make it: it has " + strings.Join(other, "; ")
	case !found.Key:
		return "has no primary key, so that two clients could have one lock (a restore makes keys last): when all " +
			"clients have stopped, delete the rows that are there twice, and ALTER TABLE " + found.Name() +
			" ADD PRIMARY KEY (name)"
	case !found.Permanent:
		return "is UNLOGGED or temporary, so that a crash of the server would forget who holds what: make it " +
			"permanent, by ALTER TABLE " + found.Name() + " SET LOGGED"
	}
	return ""
}

// others are the columns that have not their types.
func (found *Site) others() (text []string) {
	for _, c := range changes {
		for _, want := range c.columns {
			at := slices.IndexFunc(found.Columns, func(c string) bool { return strings.HasPrefix(c, want.name+" ") })
			if at >= 0 && found.Columns[at] != want.name+" "+want.kind {
				text = append(text, fmt.Sprintf("column %s: ALTER TABLE %s ALTER COLUMN %s TYPE %s", found.Columns[at],
					found.Name(), want.name, want.kind))
			}
		}
	}
	return text
}

// rights is what the user of the session lacks.
func (found *Site) rights() string {
	var lacks []string
	for _, right := range []struct {
		name string
		has  bool
	}{{"INSERT", found.Inserts}, {"SELECT", found.Reads}, {"UPDATE", found.Updates}} {
		if !right.has {
			lacks = append(lacks, right.name)
		}
	}
	user := pgx.Identifier{found.User}.Sanitize()
	of := "by this user"
	if found.Role != "none" {
		of += ", to whom SET ROLE has led"
	}
	switch {
	case len(lacks) > 0:
		return "cannot be used " + of + ": GRANT " + strings.Join(lacks, ", ") + " ON " + found.Name() + " TO " + user
	case found.Hides:
		return "has row level security, which may hide rows from this user, so that a lock would look held for " +
			"ever: ALTER TABLE " + found.Name() + " DISABLE ROW LEVEL SECURITY, or CREATE POLICY holdfast ON " +
			found.Name() + " TO " + user + " USING (true)"
	}
	return ""
}

// errUnseenRow is the error of a name whose row was made and is not there, time after time.
func errUnseenRow(table Table) error {
	const problem = "does not show a row that was just made: look for triggers, rules and policies on it"
	return &store.Failure{
		Fault: store.FaultDefinite, Answered: true, Err: &SchemaError{Table: string(table), Problem: problem},
	}
}
