package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// holderOrders are what a process that holds a lock is told with its start.
type holderOrders struct {
	URL   string
	Lease time.Duration
}

// holder holds the lock "n", and takes the steps of a transaction when it is told to. It goes on when its hold is over,
// as a program does that looks at nothing but the error of Tx.
var holder = role.New("holder", func(o holderOrders) {
	ctx := context.Background()
	of, err := pgxpool.New(ctx, o.URL)
	role.Check(err)
	c, err := pglock.NewClient(of, &pglock.Options{Lease: o.Lease})
	role.Check(err)
	l := c.Lock("n")
	held, _, err := l.Lock(ctx)
	role.Check(err)
	tx, err := of.Begin(ctx)
	role.Check(err)
	fmt.Println("held")
	for {
		var lost *lock.LostError
		switch err = step(ctx, role.Told(), held, tx, l); {
		case err == nil:
			fmt.Println("done")
		case errors.As(err, &lost):
			fmt.Println("lost")
		default:
			fmt.Println("failed", strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
})

func step(ctx context.Context, what string, held context.Context, tx pgx.Tx, l *lock.Lock) error {
	switch what {
	case "tx":
		return pglock.Tx(held, tx, l)
	case "write":
		return write(ctx, tx, "child")
	case "commit":
		return tx.Commit(ctx)
	}
	return errors.New("unknown: " + what)
}

// A lease long enough that a slow machine renews it, and short enough to wait for its end.
const childLease = 5 * time.Second

// over waits until the lease is over by the server's clock.
func (a arena) over(t testing.TB) {
	t.Helper()
	pgtest.Eventually(t, func() bool {
		return pgtest.Run(t, a.own, "SELECT until < clock_timestamp() FROM holdfast_lock WHERE name = 'n'") == "t"
	}, "the lease ends")
}

// A process stands still before Tx, in the middle of its transaction, for longer than its lease. Another one has the
// lock, and commits. What the first had written is rolled back.
func TestAStoppedProcessCannotCommit(t *testing.T) {
	t.Parallel()
	for by, make := range ways {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			a := make(t)
			child := holder.Start(t, holderOrders{URL: a.url, Lease: childLease})
			child.Hears("held")
			require.Equal(t, "done", child.Ask("write"))
			child.Freeze()
			c := a.client(t)
			held, unlock := take(t, within(t), c.Lock("n"))
			require.NoError(t, a.work(t, held, c.Lock("n"), "other").Commit(within(t)))
			child.Thaw()
			require.Equal(t, "lost", child.Ask("tx"))
			require.NoError(t, unlock())
			a.wrote(t, "other")
		})
	}
}

// A process stands still after Tx, for longer than its lease. Nobody else has the lock before its transaction is over:
// it commits, when it goes on.
func TestAStoppedProcessIsWaitedFor(t *testing.T) {
	t.Parallel()
	for by, make := range ways {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			a := make(t)
			child := holder.Start(t, holderOrders{URL: a.url, Lease: childLease})
			child.Hears("held")
			require.Equal(t, "done", child.Ask("tx"))
			require.Equal(t, "done", child.Ask("write"))
			c := a.client(t)
			result := c.lockLater(t, "n")
			child.Freeze()
			a.over(t)
			c.asksInVain(t, result)
			busy(t, a.client(t).Client, "n")
			child.Thaw()
			require.Equal(t, "done", child.Ask("commit"))

			then := await(t, result, "the lock, after the commit")
			require.NoError(t, then.err)
			require.NoError(t, a.work(t, then.held, c.Lock("n"), "other").Commit(within(t)))
			require.NoError(t, then.unlock())
			a.wrote(t, "child", "other")
		})
	}
}

// If a process never goes on, PostgreSQL ends its transaction where it is told to, and with it the wait.
func TestATransactionThatStandsStillIsEnded(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	child := holder.Start(t, holderOrders{
		URL: a.url + "&idle_in_transaction_session_timeout=1000", Lease: childLease,
	})
	child.Hears("held")
	require.Equal(t, "done", child.Ask("tx"))
	child.Freeze()
	c := a.client(t)
	held, unlock := take(t, within(t), c.Lock("n"))
	require.NoError(t, a.work(t, held, c.Lock("n"), "other").Commit(within(t)))
	require.NoError(t, unlock())
	child.Thaw()
	require.Contains(t, child.Ask("commit"), "failed")
	a.wrote(t, "other")
}
