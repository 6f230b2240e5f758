package pglock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// disturbed starts a server that a test may disturb, with the table of locks.
func disturbed(t *testing.T, settings ...string) *pgtest.Server {
	t.Helper()
	server := pgtest.Start(t, settings...)
	migrate(t, server.URL())
	return server
}

// The server stands still for longer than a lease. A holder is told though nobody answers, a waiter can
// leave, and Close ends; when the server goes on, nothing is left of all that, and everything works.
func TestAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	server := disturbed(t)
	opts := pglock.Options{Lease: 3 * time.Second, ReleaseTimeout: time.Second}
	of := pool(t, server.URL())
	a, b, closing := client(t, of, opts), client(t, of, opts), client(t, of, opts)
	held, unlock := take(t, within(t), a.Lock("a"))
	work, done := take(t, within(t), a.Lock("work", lock.Lease(patience)))
	_, _ = take(t, within(t), closing.Lock("closing", lock.Lease(patience)))
	leaves, leave := context.WithCancel(within(t))
	left := make(chan error, 1)
	go func() {
		_, _, err := b.Lock("a").Lock(leaves)
		left <- err
	}()
	listens(t, server.URL(), "a")

	server.Freeze()
	var loss *lock.LostError
	require.ErrorAs(t, ended(t, held), &loss)
	require.Equal(t, lock.LossExpired, loss.Reason)
	require.ErrorIs(t, unlock(), lock.ErrLost)
	leave()
	require.ErrorIs(t, await(t, left, "a waiter that leaves"), context.Canceled)
	_, _, err := b.Lock("b").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	_, _, err = b.Lock("b").Lock(within(t)) // gives up after a lease
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.NoError(t, work.Err(), "its lease is long")
	require.ErrorIs(t, done(), lock.ErrUnconfirmed)
	require.ErrorContains(t, closing.Close(), `"closing"`)

	server.Thaw()
	for _, name := range []string{"a", "b", "work"} {
		isFree(t, server.URL(), name)
		taken(t, a.Lock(name))
		taken(t, b.Lock(name))
	}
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	eventually(t, func() bool {
		return server.Run(t, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") == "1"
	}, "no session is left")
}

// The server crashes, or is shut down, and is back before leases end: holds stay, waiters wait on, and connections that
// nobody used meanwhile are no error of the first call.
func TestAServerThatIsRestarted(t *testing.T) {
	t.Parallel()
	server := disturbed(t)
	opts := unpolled
	of := pool(t, server.URL())
	a, b, idle := client(t, of, opts), client(t, of, opts), client(t, of, opts)
	for _, end := range []func(){server.Crash, server.Shutdown} {
		warm(t, idle)
		held, unlock := take(t, within(t), forLong(a, "a"))
		got := waiter(t, b.Lock("a"))
		listens(t, server.URL(), "a")
		end()
		server.Restart()
		_, release, err := idle.Lock("b").TryLock(within(t))
		require.NoError(t, err)
		require.NoError(t, release())
		require.NoError(t, held.Err())
		_, _, err = idle.Lock("a").TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrBusy, "the hold is there")
		require.NoError(t, unlock())
		require.NoError(t, await(t, got, "the waiter"))
	}
}

// A row that another session has locked costs nobody else anything: renewals go on, though all connections for callers
// are busy with it, and the application's pool is exhausted.
func TestAConnectionThatIsBusyForLong(t *testing.T) {
	t.Parallel()
	of := database(t)
	theirs := pool(t, of+"&pool_max_conns=1")
	confirmed := make(chan struct{}, 100)
	opts := pglock.Options{Lease: 3 * time.Second, MaxConns: 1, Observer: &lock.Observer{
		Renewed: func(r lock.Renewal) {
			if r.Name == "held" && r.Err == nil {
				confirmed <- struct{}{}
			}
		},
	}}
	c := client(t, theirs, opts)
	held, unlock := take(t, within(t), c.Lock("held"))
	_, give := take(t, within(t), c.Lock("locked"))
	conn, err := theirs.Acquire(within(t)) // the only one
	require.NoError(t, err)
	t.Cleanup(conn.Release)
	tx := session(t, of)
	_, err = tx.Exec(within(t), "BEGIN; SELECT FROM holdfast_lock WHERE name = 'locked' FOR UPDATE")
	require.NoError(t, err)
	released := make(chan error, 1)
	go func() { released <- give() }() // waits for the row, by the only connection, again and again
	for range 4 {
		await(t, confirmed, "a renewal")
	}
	require.NoError(t, held.Err())
	_, err = tx.Exec(within(t), "ROLLBACK")
	require.NoError(t, err)
	if err := await(t, released, "the release"); err != nil && !errors.Is(err, lock.ErrUnconfirmed) {
		require.ErrorIs(t, err, lock.ErrLost) // its lease may have ended: the row could not be renewed either
	}
	isFree(t, of, "locked")
	require.NoError(t, unlock())
}

// The hold of a row that another session has locked ends in time, and no other one with it.
func TestALockedRowEndsNoOtherHold(t *testing.T) {
	t.Parallel()
	of := database(t)
	c := client(t, pool(t, of), pglock.Options{Lease: 3 * time.Second})
	var others []func() error
	var contexts []context.Context
	locked, give := take(t, within(t), c.Lock("locked"))
	for _, name := range []string{"a", "b", "y", "z"} {
		held, unlock := take(t, within(t), c.Lock(name))
		contexts, others = append(contexts, held), append(others, unlock)
	}
	tx := session(t, of)
	_, err := tx.Exec(within(t), "BEGIN; SELECT FROM holdfast_lock WHERE name = 'locked' FOR UPDATE")
	require.NoError(t, err)
	var loss *lock.LostError
	require.ErrorAs(t, ended(t, locked), &loss)
	require.Equal(t, lock.LossExpired, loss.Reason)
	require.ErrorContains(t, loss, "another transaction has locked the row")
	require.ErrorIs(t, give(), lock.ErrLost)
	for i, held := range contexts {
		require.NoError(t, held.Err())
		require.NoError(t, others[i]())
	}
	_, err = tx.Exec(within(t), "ROLLBACK")
	require.NoError(t, err)
	taken(t, c.Lock("locked"))
}

// What a role has as its defaults changes nothing.
func TestTheRolesDefaults(t *testing.T) {
	t.Parallel()
	for setting, value := range map[string]string{
		"default_transaction_isolation": "serializable", "default_transaction_read_only": "on",
		"default_transaction_deferrable": "on", "lock_timeout": "1ms",
		"synchronous_commit": "off", "search_path": "nowhere", "idle_in_transaction_session_timeout": "1ms",
		"standard_conforming_strings": "off", "DateStyle": "German", "IntervalStyle": "sql_standard",
		"TimeZone": "Asia/Kathmandu", "bytea_output": "escape", "client_min_messages": "error",
		"enable_seqscan": "off", "row_security": "off", "extra_float_digits": "-15",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			of := database(t)
			user, to := newRole(t, of, "")
			psql(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user+
				"; ALTER ROLE "+user+" SET "+setting+" = '"+value+"'")
			opts := pglock.Options{Lease: patience, MaxPoll: 10 * patience, Table: "public.holdfast_lock"}
			a, b := client(t, pool(t, to), opts), client(t, pool(t, to), opts)
			l := forLong(a, "a")
			held, unlock := take(t, within(t), l)
			hold, err := l.Held(held)
			require.NoError(t, err)
			_, _, err = b.Lock("a").TryLock(within(t))
			require.ErrorIs(t, err, lock.ErrBusy)
			info, err := b.Lock("a").Inspect(within(t))
			require.NoError(t, err)
			require.Equal(t, hold.ID, info.Holders[0].ID)
			require.InDelta(t, 10*patience, info.Holders[0].TTL, float64(patience))
			got := waiter(t, b.Lock("a"))
			listens(t, of, "a")
			require.NoError(t, unlock())
			require.NoError(t, await(t, got, "the message"))
			for entry, err := range pglock.List(within(t), b, "%") {
				require.NoError(t, err)
				require.Equal(t, "a", entry.Name)
				require.WithinDuration(t, time.Now(), entry.Since, 10*patience)
			}
		})
	}
}
