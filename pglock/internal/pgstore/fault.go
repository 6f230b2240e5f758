package pgstore

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-go/holdfast/internal/store"
)

// errRows is the error of an answer that has not one row for each hold: what was done is not known.
var errRows = &store.Failure{
	Fault: store.FaultAmbiguous, Answered: true, Err: errors.New("the answer has not one row for each hold"),
}

// unsent is the meaning of an error without which the request would have been sent: there was no connection for it.
func unsent(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && denied(refused.Code) {
		return &store.Failure{Fault: store.FaultDefinite, Answered: true, Denied: true, Err: err}
	}
	return &store.Failure{Fault: store.FaultTransient, Answered: refused != nil, Err: err}
}

// meaning is what an error says of the request that it answers, or that it left without an answer. Table is the name of
// the table, quoted.
//
// What PostgreSQL answers to a statement ends the transaction, so nothing was done. That it ends the connection (an
// operator, a shutdown, a session that was idle for too long) may come while a commit waits for its standbys, when it
// stands already; and it may have come before, to a connection that nobody used. A connection that broke proves
// nothing.
//
// The client library says of some errors that they are "safe to retry". It is not asked: it says so also where a
// connection breaks as an answer is read.
func meaning(err error, table string) error {
	var refused *pgconn.PgError
	var known *store.Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case !errors.As(err, &refused):
		return &store.Failure{Fault: store.FaultAmbiguous, Err: err}
	case denied(refused.Code):
		return &store.Failure{Fault: store.FaultDefinite, Answered: true, Denied: true, Err: err}
	case refused.Code == tooLarge:
		return &grownError{err}
	case refused.Code == notInTime && refused.Where != "":
		return &store.Failure{Fault: store.FaultTransient, Answered: true, Locked: true, Err: err}
	case refused.Code == notInTime:
		err = &tableError{table, err}
		return &store.Failure{Fault: store.FaultTransient, Answered: true, Locked: true, Err: err}
	}
	fault := store.FaultDefinite
	switch {
	case refused.SeverityUnlocalized != "ERROR", strings.HasPrefix(refused.Code, "08"): // the connection ends
		fault = store.FaultAmbiguous
	case passes(refused.Code):
		fault = store.FaultTransient
	}
	return &store.Failure{Fault: fault, Answered: true, Err: err}
}

// denied reports that the server refuses this user: a right is missing, or the credentials are wrong.
func denied(code string) bool { return code == noRight || strings.HasPrefix(code, "28") }

// noRight is the code of a right that is missing.
const noRight = "42501"

// notInTime is the code of a lock that was not free in time: of a row, if the server says where that was (Where), and
// otherwise of the table, with which nothing can be done then.
const notInTime = "55P03"

// rowLocked reports that a row was not free in time.
func rowLocked(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == notInTime && refused.Where != ""
}

// tableError is the error of a request while another session has the table locked: an administrator by LOCK TABLE, or a
// statement that changes or rewrites it. Nothing was done. The commit of a message that did not have its turn in time
// looks the same, and is sent again without.
type tableError struct {
	table string // its name, quoted
	cause error
}

func (e *tableError) Error() string {
	return "another session has locked the table (SELECT pid, mode FROM pg_locks WHERE relation = '" +
		strings.ReplaceAll(e.table, "'", "''") + "'::regclass AND granted shows it): " + e.cause.Error()
}

func (e *tableError) Unwrap() error { return e.cause }

// tooLarge is the code of a number that its type has no room for. Only a token can be that, which somebody wrote into
// the table.
const tooLarge = "22003"

// grownError is the error of a lock whose token is the largest there is. Nothing was written.
type grownError struct{ cause error }

func (e *grownError) Error() string { return "the fencing token cannot grow any more" }

func (e *grownError) Is(target error) bool { return target == store.ErrConflict }

func (e *grownError) Unwrap() error { return e.cause }

// unusable reports that the table is not as it was found to be.
func unusable(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case noRight, "42P01", "42703": // no such table, no such column
		return true
	}
	return false
}

// passes reports a refusal that may be over the next time: a conflict with another transaction (40), a lock that was
// not free in time (55P03), too few resources (53), a server that starts or stops (57), an object that is being
// changed (55), a standby, on which nothing can be written (25006, and 0A000 for a transaction that wants to).
func passes(code string) bool {
	return strings.HasPrefix(code, "40") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "55") ||
		strings.HasPrefix(code, "57") || code == "25006" || code == "0A000"
}

// refused reports that the server does not let this client in, or not to what it wants, whatever the client does: that
// is no server which starts or stops.
func refused(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && !strings.HasPrefix(answer.Code, "57")
}
