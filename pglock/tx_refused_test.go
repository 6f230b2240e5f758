package pglock_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

var isolation = map[string]pgx.TxIsoLevel{
	"READ COMMITTED": pgx.ReadCommitted, "REPEATABLE READ": pgx.RepeatableRead, "SERIALIZABLE": pgx.Serializable,
}

// What Tx says when something has changed since the first statement of the transaction, which fixes what a transaction
// sees whose isolation is stricter than READ COMMITTED.
func TestTxSeesWhatItsTransactionSees(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		since   func(t *testing.T, a arena, mine, other asking)
		relaxed func(t *testing.T, err error) // under READ COMMITTED
		strict  func(t *testing.T, err error) // under the others
		loses   bool                          // the hold is over
	}{
		"renewals": {
			since: func(t *testing.T, a arena, _, _ asking) {
				for range 3 {
					pgtest.Run(t, a.own, "UPDATE holdfast_lock SET until = until + interval '1 second'")
				}
			},
			relaxed: stands, strict: stands,
		},
		"a renewal that is under way": {
			since: func(t *testing.T, a arena, _, _ asking) {
				other := a.begin(t, pgx.TxOptions{})
				_, err := other.Exec(within(t), "UPDATE holdfast_lock SET until = until + interval '1 second'")
				require.NoError(t, err)
			},
			relaxed: stands, strict: stands,
		},
		"another one has the lock": {
			since: func(t *testing.T, a arena, _, other asking) {
				a.end(t)
				take(t, within(t), other.Lock("n"))
			},
			relaxed: isLost, strict: conflicts, loses: true,
		},
		"another one had the lock": {
			since: func(t *testing.T, a arena, _, other asking) {
				a.end(t)
				_, unlock := take(t, within(t), other.Lock("n"))
				require.NoError(t, unlock())
			},
			relaxed: isLost, strict: conflicts, loses: true,
		},
		"the row was deleted": {
			since: func(t *testing.T, a arena, _, _ asking) {
				pgtest.Run(t, a.own, "DELETE FROM holdfast_lock")
			},
			relaxed: isLost, strict: conflicts, loses: true,
		},
		"it was released, and nobody has had it": {
			since: func(t *testing.T, _ arena, _, other asking) {
				require.NoError(t, other.Lock("n").Break(within(t)))
			},
			relaxed: isLost, strict: stands, loses: true,
		},
	}
	for name, c := range cases {
		for level, of := range isolation {
			t.Run(name+", "+level, func(t *testing.T) {
				t.Parallel()
				a := ways["directly"](t)
				mine, other := a.client(t), a.client(t)
				l := mine.Lock("n")
				held, _ := take(t, within(t), l)
				tx := a.begin(t, pgx.TxOptions{IsoLevel: of})
				var one int
				require.NoError(t, tx.QueryRow(within(t), "SELECT 1 FROM holdfast_lock").Scan(&one))
				c.since(t, a, mine, other)
				err := pglock.Tx(held, tx, l)
				if of == pgx.ReadCommitted {
					c.relaxed(t, err)
				} else {
					c.strict(t, err)
				}
				if err == nil {
					_, _, err := other.Lock("n").TryLock(within(t))
					require.ErrorIs(t, err, lock.ErrBusy, "nobody gets it before the transaction is over")
				}
				require.NoError(t, tx.Rollback(within(t)))
				// What the next transaction is told is the truth.
				next := pglock.Tx(held, a.begin(t, pgx.TxOptions{IsoLevel: of}), l)
				if c.loses {
					isLost(t, next)
				} else {
					require.NoError(t, next)
				}
			})
		}
	}
}

func stands(t *testing.T, err error) { require.NoError(t, err) }

func isLost(t *testing.T, err error) {
	var lost *lock.LostError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, lock.LossGone, lost.Reason)
}

func conflicts(t *testing.T, err error) {
	isRefused(t, err, "40001")
	require.NotErrorIs(t, err, lock.ErrLost, "the transaction cannot tell")
}

func isRefused(t *testing.T, err error, code string) {
	t.Helper()
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code)
	require.ErrorContains(t, err, `lock "n"`)
	require.ErrorContains(t, err, "must be rolled back")
}

// A transaction that does not see the hold, or has no right to lock it, fails, and the hold stands.
func TestTransactionsThatDoNotSuit(t *testing.T) {
	t.Parallel()
	unseen := func(t *testing.T, err error) {
		var bad *lock.ArgumentError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, "tx", bad.Name)
		require.ErrorContains(t, err, "does not see the hold")
	}
	code := func(code string) func(t *testing.T, err error) {
		return func(t *testing.T, err error) { isRefused(t, err, code) }
	}
	after := func(t *testing.T, tx pgx.Tx, sql string) pgx.Tx {
		_, err := tx.Exec(within(t), sql)
		require.NoError(t, err)
		return tx
	}
	other := func(t *testing.T, url string) pgx.Tx { return arena{url: url}.begin(t, pgx.TxOptions{}) }
	cases := map[string]struct {
		tx   func(t *testing.T, a arena) pgx.Tx
		says func(t *testing.T, err error)
	}{
		"only reads": {
			tx:   func(t *testing.T, a arena) pgx.Tx { return a.begin(t, pgx.TxOptions{AccessMode: pgx.ReadOnly}) },
			says: code("25006"),
		},
		"by a user who may only read": {
			tx: func(t *testing.T, a arena) pgx.Tx {
				return after(t, a.begin(t, pgx.TxOptions{}), "SET LOCAL ROLE pg_read_all_data")
			},
			says: code("42501"),
		},
		"has failed": {
			tx: func(t *testing.T, a arena) pgx.Tx {
				tx := a.begin(t, pgx.TxOptions{})
				_, err := tx.Exec(t.Context(), "SELECT 1 / 0")
				require.Error(t, err)
				return tx
			},
			says: code("25P02"),
		},
		"is over": {
			tx: func(t *testing.T, a arena) pgx.Tx {
				tx := a.begin(t, pgx.TxOptions{})
				require.NoError(t, tx.Rollback(t.Context()))
				return tx
			},
			says: func(t *testing.T, err error) { require.ErrorIs(t, err, pgx.ErrTxClosed) },
		},
		"of another database without the table": {
			tx:   func(t *testing.T, _ arena) pgx.Tx { return other(t, pgtest.Shared(t).Database(t)) },
			says: code("42P01"),
		},
		"of another database with such a table": {
			tx:   func(t *testing.T, _ arena) pgx.Tx { return other(t, database(t)) },
			says: unseen,
		},
		"that sees another table of that name first": {
			tx: func(t *testing.T, a arena) pgx.Tx {
				return after(t, a.begin(t, pgx.TxOptions{}), "CREATE TEMPORARY TABLE holdfast_lock "+
					"(LIKE public.holdfast_lock INCLUDING ALL) ON COMMIT DROP")
			},
			says: stands, // it is not the table that the client found (defect G17)
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, func(url string) string { return url })
			client := a.client(t)
			l := client.Lock("n")
			held, unlock := take(t, t.Context(), l)
			c.says(t, pglock.Tx(held, c.tx(t, a), l))
			require.NoError(t, held.Err())
			require.NoError(t, a.work(t, held, l, "a").Commit(t.Context()))
			require.NoError(t, unlock(), "the hold stood")
		})
	}
}

// A transaction that began to read before the lock was taken may have read what another holder has changed since.
func TestASnapshotOlderThanTheHold(t *testing.T) {
	t.Parallel()
	for level, of := range isolation {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			a := ways["directly"](t)
			c := a.client(t)
			l := c.Lock("n")
			_, unlock := take(t, within(t), l)
			require.NoError(t, unlock(), "the row is there")
			tx := a.begin(t, pgx.TxOptions{IsoLevel: of})
			var one int
			require.NoError(t, tx.QueryRow(within(t), "SELECT 1 FROM holdfast_lock").Scan(&one))
			held, unlock := take(t, within(t), l)
			err := pglock.Tx(held, tx, l)
			if of == pgx.ReadCommitted {
				require.NoError(t, err, "each statement sees what was committed before it")
			} else {
				require.ErrorContains(t, err, "begin after Lock")
			}
			require.NoError(t, tx.Rollback(within(t)))
			require.NoError(t, a.work(t, held, l, "a").Commit(within(t)), "the hold stands")
			require.NoError(t, unlock())
		})
	}
}

// foreign is the protocol of another store.
type foreign struct{ store.Protocol }

// elsewhere is a lock of another store.
func elsewhere(l *lock.Lock) *lock.Lock {
	parts := (*handle.Lock)(l).Parts()
	of := foreign{parts.Request.Proto}
	return (*lock.Lock)(handle.New(&handle.Parts{Engine: parts.Engine, Request: engine.Request{Proto: of}}))
}

// What is not true of the hold is told before anything is sent.
func TestTxRefusesArguments(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	c, other := a.client(t), a.client(t)
	l := c.Lock("n")
	held, unlock := take(t, within(t), l)
	tx := a.begin(t, pgx.TxOptions{})
	bad := map[string]error{
		"ctx":  pglock.Tx(noContext, tx, l),
		"tx":   pglock.Tx(held, nil, l),
		"lock": pglock.Tx(held, tx, nil),
		"name": pglock.Tx(held, tx, c.Lock("")),
	}
	for name, err := range bad {
		var argument *lock.ArgumentError
		require.ErrorAs(t, err, &argument, name)
		require.Equal(t, name, argument.Name)
	}
	var argument *lock.ArgumentError
	require.ErrorAs(t, pglock.Tx(held, tx, new(lock.Lock)), &argument, "a zero lock")
	require.ErrorAs(t, pglock.Tx(held, tx, elsewhere(l)), &argument, "a lock of another store")
	require.ErrorContains(t, argument, "package pglock")

	require.ErrorIs(t, pglock.Tx(within(t), tx, l), lock.ErrNotHeld)
	require.ErrorIs(t, pglock.Tx(lock.WithoutHolds(held), tx, l), lock.ErrNotHeld)
	require.ErrorIs(t, pglock.Tx(held, tx, c.Lock("m")), lock.ErrNotHeld, "another name")
	require.ErrorIs(t, pglock.Tx(held, tx, other.Lock("n")), lock.ErrNotHeld, "another client")
	require.NoError(t, pglock.Tx(held, tx, c.Lock("n")), "another handle")
	require.NoError(t, tx.Commit(within(t)))
	require.NoError(t, unlock())
	require.ErrorIs(t, pglock.Tx(held, tx, l), lock.ErrNotHeld)
	require.NoError(t, c.Close())
	require.ErrorIs(t, pglock.Tx(held, tx, l), lock.ErrClosed)
}

// A hold that ends while Tx waits for the row says so, and not that a statement was interrupted.
func TestAHoldThatEndsWhileTxWaits(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	c := a.client(t)
	l := c.Lock("n")
	held, unlock := take(t, within(t), l)
	inTheWay := a.begin(t, pgx.TxOptions{})
	_, err := inTheWay.Exec(within(t), "SELECT 1 FROM holdfast_lock FOR UPDATE")
	require.NoError(t, err)
	tx, result, released := a.begin(t, pgx.TxOptions{}), make(chan error, 1), make(chan error, 1)
	go func() { result <- pglock.Tx(held, tx, l) }()
	waiting(t, a, result)
	go func() { released <- unlock() }()
	require.ErrorIs(t, await(t, result, "Tx"), lock.ErrNotHeld)
	require.NoError(t, inTheWay.Rollback(within(t)))
	require.NoError(t, await(t, released, "unlock"))
}

// What Tx found out inside a savepoint holds as long as that is not rolled back.
func TestTxInASavepoint(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	c, other := a.client(t), a.client(t)
	l := c.Lock("n")
	held, unlock := take(t, within(t), l)
	outer := a.begin(t, pgx.TxOptions{})
	inner, err := outer.Begin(within(t))
	require.NoError(t, err)
	require.NoError(t, pglock.Tx(held, inner, l))
	require.NoError(t, inner.Commit(within(t)))
	undone, err := outer.Begin(within(t))
	require.NoError(t, err)
	require.NoError(t, pglock.Tx(held, undone, l))
	require.NoError(t, undone.Rollback(within(t)))
	require.NoError(t, unlock())
	busy(t, other.Client, "n")
	require.NoError(t, outer.Commit(within(t)))

	held, unlock = take(t, within(t), l)
	outer = a.begin(t, pgx.TxOptions{})
	undone, err = outer.Begin(within(t))
	require.NoError(t, err)
	require.NoError(t, pglock.Tx(held, undone, l))
	require.NoError(t, undone.Rollback(within(t)))
	require.NoError(t, unlock())
	_, done := take(t, within(t), other.Lock("n"))
	require.NoError(t, done(), "the savepoint took the row's lock with it")
	require.NoError(t, outer.Rollback(context.Background()))
}
