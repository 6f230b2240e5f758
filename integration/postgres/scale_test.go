package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// counted is a client whose renewals are counted.
type counted struct {
	*pglock.Client
	of string

	statements, holds atomic.Int64 // that were answered, and for how many holds
	losses            atomic.Int64
	server            *pgtest.Server // which counts, too; nil: it cannot
}

// newCounted starts a server that counts statements, if it can.
func newCounted(t *testing.T, lease time.Duration) *counted {
	t.Helper()
	c := new(counted)
	if pgtest.Shared(t).Run(t, "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'") == "1" {
		c.server = pgtest.Start(t, "shared_preload_libraries=pg_stat_statements")
		c.server.Run(t, "CREATE EXTENSION pg_stat_statements")
		c.of = c.server.URL()
		migrate(t, c.of)
	} else {
		t.Log("the server has no pg_stat_statements: the client alone counts")
		c.of = database(t)
	}
	c.Client = client(t, c.of, pglock.Options{Lease: lease, MaxConns: 8, Observer: &lock.Observer{
		Command: func(command lock.Command) {
			if command.Script == "renew" && command.Err == nil {
				c.statements.Add(1)
				c.holds.Add(int64(command.Calls))
			}
		},
		Lost: func(*lock.LostError) { c.losses.Add(1) },
	}})
	return c
}

func name(i int) string { return fmt.Sprintf("n%05d", i) }

// takeAll takes many locks, some callers at a time, and returns their contexts.
func (c *counted) takeAll(t *testing.T, n int) []context.Context {
	t.Helper()
	pgtest.Run(t, c.of, fmt.Sprintf("INSERT INTO holdfast_lock (name) SELECT 'n' || to_char(i, 'FM00000') "+
		"FROM generate_series(0, %d) i", n-1))
	ctx := within(t)
	held, errs := make([]context.Context, n), make([]error, n)
	var next atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				held[i], _, errs[i] = c.Lock(name(int(i))).Lock(ctx)
			}
		})
	}
	callers.Wait()
	require.NoError(t, errors.Join(errs...))
	return held
}

// renewals waits until that many holds were renewed, and returns by how many statements.
func (c *counted) renewals(t *testing.T, holds int) (statements int) {
	t.Helper()
	counts := func() (statements, holds int64) {
		if c.server == nil {
			return c.statements.Load(), c.holds.Load()
		}
		_, err := fmt.Sscanf(c.server.Run(t, "SELECT coalesce(sum(calls), 0), coalesce(sum(rows), 0) "+
			"FROM pg_stat_statements WHERE query LIKE 'WITH due AS%'"), "%d|%d", &statements, &holds)
		require.NoError(t, err)
		return statements, holds
	}
	statementsBefore, holdsBefore := counts()
	eventually(t, func() bool {
		now, renewed := counts()
		statements = int(now - statementsBefore)
		return renewed-holdsBefore >= int64(holds)
	}, "renewals")
	return statements
}

// Thousands of holds of a client are renewed by few statements: 10,000 by at most 40 in a third of a lease.
func TestThousandsOfHoldsAreRenewedByFewStatements(t *testing.T) {
	for _, n := range []int{2_000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCounted(t, 30*time.Second)
			held := c.takeAll(t, n)
			c.renewals(t, n) // while they are still being taken, there are fewer at a time
			const periods = 2
			statements := c.renewals(t, periods*n)
			t.Logf("%d statements for %d holds, %d times", statements, n, periods)
			require.LessOrEqual(t, statements, periods*40)
			for _, ctx := range held {
				require.NoError(t, ctx.Err())
			}
			require.Zero(t, c.losses.Load())
			require.ErrorContains(t, c.Close(), "more")
			require.Equal(t, "0", pgtest.Run(t, c.of,
				"SELECT count(*) FROM holdfast_lock WHERE until > clock_timestamp()"))
		})
	}
}

// Rows that another session has locked end their own holds, and none of the others of the same batches (bug 60).
func TestLockedRowsAmongThousands(t *testing.T) {
	c := newCounted(t, 15*time.Second)
	held := c.takeAll(t, 2_000)
	locked := map[string]bool{name(0): true, name(777): true, name(1999): true}
	var names []string
	for one := range locked {
		names = append(names, "'"+one+"'")
	}
	session := pgtest.Client(t, within(t), c.of, "BEGIN; SELECT FROM holdfast_lock WHERE name IN ("+strings.Join(names, ", ")+
		") FOR UPDATE; SELECT pg_sleep(3600)")
	require.NoError(t, session.Start())
	for i, ctx := range held {
		if locked[name(i)] {
			lost := loss(t, ctx)
			require.Equal(t, lock.LossExpired, lost.Reason)
			require.ErrorContains(t, lost, "another transaction has locked the row")
		}
	}
	pgtest.Run(t, c.of, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
	require.Error(t, session.Wait())
	c.renewals(t, 2_000)
	for i, ctx := range held {
		require.Equal(t, locked[name(i)], ctx.Err() != nil)
	}
	require.EqualValues(t, len(locked), c.losses.Load())
	for one := range locked {
		taken(t, c.Lock(one))
	}
}
