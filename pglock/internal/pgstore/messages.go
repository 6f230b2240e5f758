package pgstore

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// silence is for how long no message is sent after one could not be.
const silence = 5 * time.Second

// saidAgain is for how long the log does not repeat that.
const saidAgain = 10 * time.Minute

// messages are what tells other clients of a release, or that this client waits. They are a help: without them waiters
// poll. So nothing that a message announces fails with it. It cannot be sent while the server's queue of messages is
// full, because some session listens in an open transaction; if EXECUTE on pg_notify was revoked; and while another
// program's commit of a message takes long, which all others of the database wait for.
//
// Both times are of the client's clock.
type messages struct {
	silent atomic.Int64 // until then none is sent
	said   atomic.Int64 // until then the log has the reason
}

// are reports that messages are to be sent.
func (m *messages) are(now time.Duration) bool { return int64(now) >= m.silent.Load() }

// untellable reports that a transaction may have been refused because of its message: the queue is full, a right is
// missing, or the turn to commit one did not come in time. A row that was not free in time has nothing to do with it.
func untellable(err error) bool {
	var refused *pgconn.PgError
	return !rowLocked(err) && errors.As(err, &refused) &&
		slices.Contains([]string{"54000", noRight, notInTime}, refused.Code)
}

// silenced says that a message could not be sent.
func (s *Store) silenced(err error) {
	now := s.host.Clock.Now()
	s.messages.silent.Store(int64(now + silence))
	var refused *pgconn.PgError
	errors.As(err, &refused)
	said := s.messages.said.Load()
	if int64(now) < said || !s.messages.said.CompareAndSwap(said, int64(now+saidAgain)) {
		return
	}
	s.host.Warn("PostgreSQL sends no notifications: waiters of other processes notice releases only when they poll",
		"poll", s.poll.String(), "error", refused)
}
