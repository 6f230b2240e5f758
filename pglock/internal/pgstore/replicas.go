package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/store"
)

// copies are the standbys that have what a request wrote.
type copies struct {
	upto string // where its commit is, or behind that
	got  int
}

func (c *copies) scan(row pgx.Row) error { return row.Scan(&c.upto, &c.got) }

// errUncounted is the error of a user who cannot see what standbys have.
func errUncounted(user string) error {
	return &store.Failure{Fault: store.FaultDefinite, Answered: true, Denied: true, Err: errors.New(
		"MinReplicas cannot be kept by this user, who does not see what standbys have: GRANT pg_read_all_stats TO " +
			pgx.Identifier{user}.Sanitize())}
}

// mostPause is how long to wait at most until standbys are counted again.
const mostPause = 50 * time.Millisecond

// copied waits until enough standbys have what was committed. The server's own wait for synchronous standbys is over by
// then, but does not say which of several have it, and ends without a word when synchronous_standby_names is emptied.
//
// The write stands on this server all the same: the error says that it is to be taken back.
func (s *Store) copied(conn *pgx.Conn, end time.Time, c copies) error {
	ctx, cancel := context.WithDeadline(s.conns.life, end)
	defer cancel()
	spare := time.Until(end) / 8 // so that no answer is under way at the end, which would cost the connection
	for pause := time.Millisecond; c.got < s.replicas; pause = min(2*pause, mostPause) {
		short := &store.ShortfallError{Got: c.got, Want: s.replicas, Fsync: true, Primary: true}
		if time.Until(end) < pause+spare {
			return short
		}
		select {
		case <-ctx.Done():
			return short
		case <-time.After(pause):
		}
		if short.Err = c.scan(conn.QueryRow(ctx, s.place().sql.replicated, c.upto)); short.Err != nil {
			return short
		}
	}
	return nil
}
