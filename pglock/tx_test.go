package pglock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/pglock"
)

// arena is a database with the table of locks and a journal, in which each transaction writes how many of its kind it
// finds committed, and one more. So two that are open at the same time write the same number.
type arena struct {
	url string // by which transactions and clients come
	own string // past a pooler, if there is one
}

// ways are those by which programs come to a server.
var ways = map[string]func(t testing.TB) arena{
	"directly": func(t testing.TB) arena { return newArena(t, func(url string) string { return url }) },
	"by a pooler": func(t testing.TB) arena {
		bouncer := pgtest.StartBouncer(t, pgtest.Shared(t), "transaction")
		return newArena(t, func(url string) string { return bouncer.To(url) + "&default_query_exec_mode=exec" })
	},
}

func newArena(t testing.TB, by func(url string) string) arena {
	own := database(t)
	pgtest.Run(t, own, "CREATE TABLE journal (nth bigint, who text)")
	return arena{url: by(own), own: own}
}

func write(ctx context.Context, tx pgx.Tx, who string) error {
	_, err := tx.Exec(ctx, "INSERT INTO journal SELECT count(*) + 1, $1 FROM journal", who)
	return err
}

// wrote fails the test unless these have committed, one after the other.
func (a arena) wrote(t testing.TB, who ...string) {
	t.Helper()
	var want []string
	for i, one := range who {
		want = append(want, fmt.Sprintf("%d|%s", i+1, one))
	}
	require.Equal(t, strings.Join(want, "\n"), pgtest.Run(t, a.own, "SELECT nth, who FROM journal ORDER BY nth, who"))
}

// work opens a transaction under a hold, on a connection of its own, and writes in it.
func (a arena) work(t testing.TB, held context.Context, l *lock.Lock, who string) pgx.Tx {
	t.Helper()
	tx := a.begin(t, pgx.TxOptions{})
	require.NoError(t, pglock.Tx(held, tx, l))
	require.NoError(t, write(within(t), tx, who))
	return tx
}

func (a arena) begin(t testing.TB, opts pgx.TxOptions) pgx.Tx {
	t.Helper()
	tx, err := session(t, a.url).BeginTx(within(t), opts)
	require.NoError(t, err)
	return tx
}

// end ends the leases of all holds at the server, as its clock would. No client knows of it.
func (a arena) end(t testing.TB) { pgtest.Run(t, a.own, "UPDATE holdfast_lock SET until = 'epoch'") }

// waiting waits until a session of the database waits for a row, and fails the test if what it does is done before.
func waiting[T any](t testing.TB, a arena, done <-chan T) {
	t.Helper()
	pgtest.Eventually(t, func() bool {
		return len(done) > 0 || pgtest.Run(t, a.own, "SELECT count(*) = 1 FROM pg_stat_activity "+
			"WHERE wait_event_type = 'Lock' AND datname = current_database()") == "t"
	}, "it waits")
	require.Empty(t, done, "it should wait for the row")
}

// asking is a client that counts the requests by which it asked for locks, and which were answered.
type asking struct {
	*pglock.Client
	asked *atomic.Int64
}

func (a arena) client(t testing.TB) asking {
	asked := new(atomic.Int64)
	observer := &lock.Observer{Command: func(c lock.Command) {
		if c.Script == "acquire" && c.Err == nil {
			asked.Add(1)
		}
	}}
	c := client(t, pool(t, a.url), pglock.Options{Observer: observer, MaxPoll: 200 * time.Millisecond})
	return asking{c, asked}
}

// grabbed is what a Lock returned.
type grabbed struct {
	held   context.Context
	unlock func() error
	err    error
}

// lockLater locks in a goroutine, and returns when the caller has to wait.
func (c asking) lockLater(t testing.TB, name string) <-chan grabbed {
	t.Helper()
	result, ctx, before := make(chan grabbed, 1), within(t), c.Stats().Waiters
	go func() {
		held, unlock, err := c.Lock(name).Lock(ctx)
		result <- grabbed{held, unlock, err}
	}()
	pgtest.Eventually(t, func() bool { return c.Stats().Waiters == before+1 }, "it waits")
	return result
}

// asksInVain waits until the client has been told several times that the lock is busy.
func (c asking) asksInVain(t testing.TB, result <-chan grabbed) {
	t.Helper()
	since := c.asked.Load()
	pgtest.Eventually(t, func() bool { return c.asked.Load() >= since+5 || len(result) > 0 }, "it asks")
	require.Empty(t, result, "nobody else has the lock before the transaction is over")
}

// inTurn has two callers lock, one after the other, and returns what the first one has and the second one waits for. If
// they are of one process, both have waited for another one: then the hold would pass between them in memory.
func inTurn(t testing.TB, before, first, second asking) (mine grabbed, result <-chan grabbed) {
	t.Helper()
	if first != second {
		held, unlock := take(t, within(t), first.Lock("n"))
		return grabbed{held: held, unlock: unlock}, second.lockLater(t, "n")
	}
	_, unlock := take(t, within(t), before.Lock("n"))
	waits, result := first.lockLater(t, "n"), second.lockLater(t, "n")
	require.NoError(t, unlock())
	mine = await(t, waits, "the first turn")
	require.NoError(t, mine.err)
	return mine, result
}

func busy(t testing.TB, c *pglock.Client, name string) {
	t.Helper()
	_, _, err := c.Lock(name).TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
}

// However a hold ends: the next caller, in the same process or in another one, gets the lock after the commit of the
// transaction that relied on it.
func TestTheNextComesAfterTheCommit(t *testing.T) {
	t.Parallel()
	type end func(t *testing.T, a arena, c *pglock.Client, held context.Context, unlock func() error)
	ends := map[string]end{
		"unlock": func(t *testing.T, _ arena, _ *pglock.Client, _ context.Context, unlock func() error) {
			require.NoError(t, unlock())
		},
		"MaxHold": func(t *testing.T, _ arena, c *pglock.Client, held context.Context, _ func() error) {
			inner, _ := take(t, held, c.Lock("n", lock.MaxHold(10*time.Millisecond)))
			var lost *lock.LostError
			require.ErrorAs(t, ended(t, inner), &lost)
			require.Equal(t, lock.LossMaxHold, lost.Reason)
			require.ErrorIs(t, ended(t, held), lock.ErrLost)
		},
		"Break": func(t *testing.T, _ arena, c *pglock.Client, held context.Context, _ func() error) {
			var kept *lock.TransactionError
			require.ErrorAs(t, c.Lock("n").Break(within(t)), &kept)
			require.ErrorIs(t, ended(t, held), lock.ErrLost)
		},
		"Close": func(t *testing.T, _ arena, c *pglock.Client, held context.Context, _ func() error) {
			require.ErrorContains(t, c.Close(), "still held")
			require.ErrorIs(t, ended(t, held), lock.ErrClosed)
		},
		"the lease ends": func(t *testing.T, a arena, _ *pglock.Client, held context.Context, _ func() error) {
			a.end(t)
			require.NoError(t, held.Err(), "the holder does not know")
		},
	}
	for by, make := range ways {
		for how, end := range ends {
			for _, next := range []string{"another process", "the same process"} {
				if next == "the same process" && (how == "Close" || how == "the lease ends") {
					continue // it has no next caller, or waits for the holder
				}
				t.Run(by+", "+how+", "+next, func(t *testing.T) {
					t.Parallel()
					a := make(t)
					first, third := a.client(t), a.client(t)
					second := first
					if next == "another process" {
						second = a.client(t)
					}
					l := first.Lock("n")
					mine, result := inTurn(t, third, first, second)
					tx := a.work(t, mine.held, l, "first")

					end(t, a, first.Client, mine.held, mine.unlock)
					second.asksInVain(t, result)
					busy(t, third.Client, "n")
					require.NoError(t, tx.Commit(within(t)))

					then := await(t, result, "the lock, after the commit")
					require.NoError(t, then.err)
					require.NoError(t, a.work(t, then.held, second.Lock("n"), "second").Commit(within(t)))
					require.NoError(t, then.unlock())
					a.wrote(t, "first", "second")
				})
			}
		}
	}
}

// A holder that was not told, and whose lock another one has, learns of it from its transaction.
func TestAStaleHolderCannotCommit(t *testing.T) {
	t.Parallel()
	for by, make := range ways {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			a := make(t)
			stale, other := a.client(t), a.client(t)
			l := stale.Lock("n")
			held, unlock := take(t, within(t), l)
			early := a.begin(t, pgx.TxOptions{})
			require.NoError(t, write(within(t), early, "stale"))
			a.end(t)
			then, done := take(t, within(t), other.Lock("n"))
			require.NoError(t, a.work(t, then, other.Lock("n"), "other").Commit(within(t)))

			require.NoError(t, held.Err(), "nobody has told it")
			var lost *lock.LostError
			require.ErrorAs(t, pglock.Tx(held, early, l), &lost)
			require.Equal(t, lock.LossGone, lost.Reason)
			require.ErrorIs(t, ended(t, held), lock.ErrLost)
			require.NoError(t, early.Rollback(within(t)))
			require.ErrorIs(t, pgx.BeginFunc(within(t), session(t, a.url), func(tx pgx.Tx) error {
				return pglock.Tx(held, tx, l)
			}), lock.ErrLost, "and from its memory, the next time")
			require.ErrorIs(t, unlock(), lock.ErrLost)
			require.NoError(t, done())
			a.wrote(t, "other")
		})
	}
}

// A transaction of several leases is in nobody's way but that of the next holder.
func TestALongTransactionIsRenewed(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	a := ways["directly"](t)
	c := client(t, pool(t, a.url), pglock.Options{Lease: lease})
	l := c.Lock("n")
	held, unlock := take(t, within(t), l)
	tx := a.work(t, held, l, "a")
	first, err := l.Held(held)
	require.NoError(t, err)
	pgtest.Eventually(t, func() bool {
		now, err := l.Held(held)
		return err != nil || now.ValidUntil.Sub(first.ValidUntil) > 3*lease
	}, "it is renewed")
	require.NoError(t, held.Err())
	require.NoError(t, pglock.Tx(held, tx, l), "it may be asked again")
	require.NoError(t, tx.Commit(held))
	require.NoError(t, unlock())
	a.wrote(t, "a")
}

// Every level of a hold is the hold.
func TestTxInNestedLevels(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	c := a.client(t)
	l := c.Lock("n")
	mine, result := inTurn(t, a.client(t), c, c)
	outer, unlockOuter := mine.held, mine.unlock
	inner, unlockInner := take(t, outer, l)
	tx := a.work(t, inner, l, "first")
	require.NoError(t, unlockInner())
	require.ErrorIs(t, pglock.Tx(inner, tx, l), context.Canceled, "nothing is sent under a context that has ended")
	require.NoError(t, pglock.Tx(context.WithoutCancel(inner), tx, l), "which carries the outer level, as for Held")
	require.NoError(t, pglock.Tx(outer, tx, l))
	require.NoError(t, unlockOuter())
	require.ErrorIs(t, pglock.Tx(outer, tx, l), lock.ErrNotHeld)
	require.ErrorIs(t, pglock.Tx(inner, tx, l), lock.ErrNotHeld)
	c.asksInVain(t, result)
	require.NoError(t, tx.Commit(within(t)))
	then := await(t, result, "the lock, after the commit")
	require.NoError(t, then.err)
	require.NoError(t, then.unlock())
}

// To export a hold is to give it to another holder, so that waits for the transaction, too.
func TestExportWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	from, to := a.client(t), a.client(t)
	l := from.Lock("n")
	held, unlock := take(t, within(t), l)
	tx := a.work(t, held, l, "from")
	token := make(chan string, 1)
	var failed error
	go func() {
		var text string
		text, failed = l.Export(held)
		token <- text
	}()
	require.ErrorIs(t, ended(t, held), lock.ErrReleased)
	waiting(t, a, token)
	require.ErrorIs(t, pglock.Tx(held, tx, l), lock.ErrNotHeld)
	require.NoError(t, tx.Commit(within(t)))
	text := await(t, token, "Export")
	require.NoError(t, failed)
	require.ErrorIs(t, unlock(), lock.ErrNotHeld)

	there, done, err := to.Lock("n").Import(within(t), text)
	require.NoError(t, err)
	require.ErrorIs(t, pglock.Tx(held, a.begin(t, pgx.TxOptions{}), l), lock.ErrNotHeld)
	require.NoError(t, a.work(t, there, to.Lock("n"), "to").Commit(within(t)))
	require.NoError(t, done())
	a.wrote(t, "from", "to")
}

// One that goes on in its own transaction while it exports waits for itself. That ends: nothing was exported then.
func TestExportUnderATransactionThatStaysOpen(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	c := client(t, pool(t, a.url), pglock.Options{ReleaseTimeout: 100 * time.Millisecond})
	l := c.Lock("n")
	held, _ := take(t, within(t), l)
	tx := a.work(t, held, l, "a")
	_, err := l.Export(held)
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorIs(t, ended(t, held), lock.ErrReleased, "the hold is over")
	other := a.client(t)
	busy(t, other.Client, "n")
	require.NoError(t, tx.Commit(within(t)))
	_, unlock := take(t, within(t), other.Lock("n"))
	require.NoError(t, unlock())
}

// A member of a set is a hold like any other.
func TestTxOfASet(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	mine, theirs := a.client(t), a.client(t)
	one, two := mine.Lock("1"), mine.Lock("2")
	set := multilock.New([]*lock.Lock{one, two})
	held, unlock, err := set.Lock(within(t))
	require.NoError(t, err)
	tx := a.work(t, held, one, "set")
	require.NoError(t, unlock())
	busy(t, theirs.Client, "1")
	_, done := take(t, within(t), theirs.Lock("2"))
	require.NoError(t, done(), "the transaction does not rely on that one")
	require.NoError(t, tx.Commit(within(t)))
	_, done = take(t, within(t), theirs.Lock("1"))
	require.NoError(t, done())
}

// Goroutines that share a hold have transactions of their own.
func TestManyTransactionsOfOneHold(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	of := pool(t, a.url, func(c *pgxpool.Config) { c.MaxConns = 8 })
	c, other := client(t, of, pglock.Options{}), a.client(t)
	l := c.Lock("n")
	held, unlock := take(t, within(t), l)
	var all sync.WaitGroup
	errs := make(chan error, 40)
	for range cap(errs) {
		all.Go(func() {
			errs <- pgx.BeginFunc(held, of, func(tx pgx.Tx) error { return pglock.Tx(held, tx, l) })
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	open := []pgx.Tx{a.begin(t, pgx.TxOptions{}), a.begin(t, pgx.TxOptions{})}
	for _, tx := range open {
		require.NoError(t, pglock.Tx(held, tx, l))
		require.NoError(t, pglock.Tx(held, tx, l), "twice in one transaction")
	}
	require.NoError(t, unlock())
	for _, tx := range open {
		busy(t, other.Client, "n")
		require.NoError(t, tx.Commit(within(t)))
	}
	_, done := take(t, within(t), other.Lock("n"))
	require.NoError(t, done(), "the last one has ended")
}

// Many callers of two processes commit one after the other, whether they unlock before or after.
func TestManyTransactionsInOrder(t *testing.T) {
	t.Parallel()
	const turns, callers = 8, 3
	a := ways["directly"](t)
	of := pool(t, a.url, func(c *pgxpool.Config) { c.MaxConns = 2 * callers })
	ctx := within(t)
	turn := func(l *lock.Lock, early bool) (err error) {
		held, unlock, err := l.Lock(ctx)
		if err != nil {
			return err
		}
		tx, err := of.Begin(ctx)
		if err != nil {
			return err
		}
		if err = pglock.Tx(held, tx, l); err == nil {
			err = write(ctx, tx, "someone")
		}
		if early && err == nil {
			err = unlock()
		}
		if err == nil {
			err = tx.Commit(ctx)
		}
		if !early && err == nil {
			err = unlock()
		}
		return err
	}
	errs := make(chan error, 2*callers)
	for range 2 {
		l := a.client(t).Lock("n")
		for range callers {
			go func() {
				var err error
				for i := 0; i < turns && err == nil; i++ {
					err = turn(l, i%2 == 0)
				}
				errs <- err
			}()
		}
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Equal(t, fmt.Sprint(2*callers*turns, "|", 2*callers*turns),
		strings.ReplaceAll(pgtest.Run(t, a.own, "SELECT count(DISTINCT nth), max(nth) FROM journal"), " ", ""))
}
