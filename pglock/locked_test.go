package pglock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// keeps asserts that Inspect and List name these transactions of a lock, in whatever order, and how each is ended.
func keeps(t *testing.T, c *pglock.Client, name string, ends ...string) {
	t.Helper()
	info, err := c.Lock(name).Inspect(within(t))
	require.NoError(t, err)
	require.ElementsMatch(t, ends, endings(info.Transactions), "%v", info.Transactions)
	for e, err := range pglock.List(within(t), c, name) {
		require.NoError(t, err)
		require.ElementsMatch(t, ends, endings(e.Transactions), "%v", e.Transactions)
		require.Equal(t, len(ends) == 0 && e.Held == 0 && e.Waiters == 0, e.Free())
	}
}

func endings(all []lock.Transaction) (ends []string) {
	for _, one := range all {
		ends = append(ends, fmt.Sprint(one.PID, one.Prepared))
		if one.PID == 0 {
			ends[len(ends)-1] = one.Prepared
		}
	}
	return ends
}

// notBroken asserts that a break names these, and says what ends them.
func notBroken(t *testing.T, err error, statements ...string) {
	t.Helper()
	var kept *lock.TransactionError
	require.ErrorAs(t, err, &kept)
	require.ErrorIs(t, err, lock.ErrBusy)
	require.Equal(t, "a", kept.Name)
	require.Equal(t, lock.KindLock, kept.Kind)
	require.Len(t, kept.Transactions, len(statements))
	for _, s := range statements {
		require.ErrorContains(t, err, s+" ends it")
	}
}

func pid(tx pgx.Tx) string { return fmt.Sprint(tx.Conn().PgConn().PID()) }

func terminate(tx pgx.Tx) string { return "SELECT pg_terminate_backend(" + pid(tx) + ")" }

// A transaction that called Tx keeps the lock from others for as long as it is open, and no hold shows that. Inspect
// and List name it, two of them as well, and what ends it. Break does not end it, and says so, whether it has broken a
// hold or there was none. (defect G22)
func TestATransactionThatKeepsALock(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "max_prepared_transactions=2")
	migrate(t, server.URL())
	site := arena{url: server.URL(), own: server.URL()}
	of := pool(t, server.URL())
	a, b := client(t, of, pglock.Options{}), client(t, of, pglock.Options{})
	l := b.Lock("a")
	taken(t, b.Lock("other"))
	begin := func(held context.Context) pgx.Tx {
		tx := site.begin(t, pgx.TxOptions{})
		require.NoError(t, pglock.Tx(held, tx, a.Lock("a")))
		return tx
	}

	held, unlock := take(t, within(t), a.Lock("a"))
	one := begin(held)
	keeps(t, b, "a", pid(one))
	two := begin(held)
	keeps(t, b, "a", pid(one), pid(two))
	keeps(t, b, "other")
	require.NoError(t, unlock())
	keeps(t, b, "a", pid(one), pid(two))
	notBroken(t, l.Break(within(t)), terminate(one), terminate(two))
	require.NoError(t, one.Rollback(within(t)))
	notBroken(t, l.Break(within(t)), terminate(two))

	_, err := two.Exec(within(t), "PREPARE TRANSACTION 'it''s'")
	require.NoError(t, err)
	keeps(t, b, "a", "it's")
	notBroken(t, l.Break(within(t)), "ROLLBACK PREPARED 'it''s'")
	server.Run(t, "ROLLBACK PREPARED 'it''s'")
	keeps(t, b, "a")
	require.ErrorIs(t, l.Break(within(t)), lock.ErrNotHeld)

	held, _ = take(t, within(t), a.Lock("a"))
	nested := site.begin(t, pgx.TxOptions{})
	point, err := nested.Begin(within(t))
	require.NoError(t, err)
	require.NoError(t, pglock.Tx(held, point, a.Lock("a")))
	notBroken(t, l.Break(within(t)), terminate(nested))
	require.ErrorIs(t, ended(t, held), lock.ErrLost, "the hold is broken all the same")
	info, err := l.Inspect(within(t))
	require.NoError(t, err)
	require.Empty(t, info.Holders)
	server.Run(t, terminate(nested))
	eventually(t, func() bool {
		_, unlock, err := l.TryLock(within(t))
		return err == nil && unlock() == nil
	}, "the transaction is over")
}

// A hold is broken while others wait: that one of them has the row locked, because it takes the lock, is no transaction
// that keeps it.
func TestABreakBesideWaiters(t *testing.T) {
	t.Parallel()
	_, a, b := two(t, pglock.Options{})
	for range 20 {
		held, _ := take(t, within(t), a.Lock("a"))
		got := waiter(t, b.Lock("a"))
		require.NoError(t, a.Lock("a").Break(within(t)))
		require.ErrorIs(t, ended(t, held), lock.ErrLost)
		require.NoError(t, await(t, got, "the waiter"))
	}
}

// Somebody has locked all rows by hand. The server serves everything else, so it is not called unavailable: renewals are
// said to fail, and why. A break says who it is, and a user who may not see the sessions of others has the number all
// the same. (defect G22)
func TestRowsThatSomebodyHasLocked(t *testing.T) {
	t.Parallel()
	of := database(t)
	var log textlog.Log
	name, to := newRole(t, of, "")
	psql(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+name)
	c := client(t, pool(t, of), pglock.Options{Lease: 3 * time.Second, Logger: log.Logger(), ReleaseTimeout: time.Second})
	held, unlock := take(t, within(t), c.Lock("a"))
	tx, err := session(t, of).Begin(within(t))
	require.NoError(t, err)
	_, err = tx.Exec(within(t), "SELECT FROM holdfast_lock FOR UPDATE")
	require.NoError(t, err)
	keeps(t, c, "a", pid(tx))
	few := client(t, pool(t, to), pglock.Options{Lease: 3 * time.Second, ReleaseTimeout: 2 * time.Second})
	keeps(t, few, "a", pid(tx))
	notBroken(t, few.Lock("a").Break(within(t)), terminate(tx))
	require.ErrorContains(t, ended(t, held), "another transaction has locked the row")
	require.ErrorIs(t, unlock(), lock.ErrLost)
	require.Contains(t, log.String(), "renewals fail")
	require.NotContains(t, log.String(), "unavailable")
	require.NoError(t, tx.Rollback(within(t)))
	taken(t, c.Lock("a"))
}

// A table that an administrator has locked is no outage: the errors of calls and of losses say that it is locked, and by
// which statement to see who has locked it. (defect G22)
func TestATableThatSomebodyHasLocked(t *testing.T) {
	t.Parallel()
	of := database(t)
	var log textlog.Log
	c := client(t, pool(t, of), pglock.Options{Lease: 3 * time.Second, Logger: log.Logger(), ReleaseTimeout: time.Second})
	held, unlock := take(t, within(t), c.Lock("a"))
	taken(t, c.Lock("other"))
	tx, err := session(t, of).Begin(within(t))
	require.NoError(t, err)
	_, err = tx.Exec(within(t), "LOCK TABLE holdfast_lock")
	require.NoError(t, err)
	says := func(err error) {
		t.Helper()
		require.ErrorContains(t, err, "has locked the table")
		require.ErrorContains(t, err, "SQLSTATE 55P03")
		_, sql, _ := strings.Cut(err.Error(), "(SELECT ")
		sql, _, shows := strings.Cut(sql, " shows it)")
		require.True(t, shows, err)
		require.Contains(t, psql(t, of, "SELECT "+sql), pid(tx)+"|AccessExclusiveLock")
	}
	isLate := func(err error) bool { return strings.Contains(err.Error(), "deadline exceeded") }
	late := false // a busy machine, on which an answer takes longer than a request may
	for _, ask := range []func() error{
		func() error {
			_, _, err := c.Lock("other").TryLock(within(t))
			require.ErrorIs(t, err, lock.ErrUnavailable, "it is not known whether somebody has the lock")
			return err
		},
		func() error {
			_, err := c.Lock("other").Inspect(within(t))
			return err
		},
	} {
		eventually(t, func() bool {
			err = ask()
			late = late || isLate(err)
			return !isLate(err)
		}, "an answer")
		says(err)
	}
	loss := ended(t, held)
	require.ErrorIs(t, unlock(), lock.ErrLost)
	if late = late || isLate(loss); late {
		t.Log("not looked at: what the loss and the log say, because an answer came too late")
	} else {
		says(loss)
		require.Contains(t, log.String(), "renewals fail")
		require.NotContains(t, log.String(), "unavailable")
	}
	require.NoError(t, tx.Rollback(within(t)))
	taken(t, c.Lock("other"))
	taken(t, c.Lock("a"))
}
