package pglock_test

import (
	"context"
	"net"
	"slices"
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
	"github.com/holdfast-go/holdfast/pglock"
)

// leftBehind has every connection be one of a pooler's, in whose session a client left something behind, from when it is
// told to.
func leftBehind(statement string, now *atomic.Bool) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) {
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			if !now.Load() {
				return nil
			}
			_, err := conn.Exec(ctx, statement)
			return err
		}
	}
}

// Whatever another client left behind in a pooled session, all requests mean the table that the first call found, and
// are those of its user. (defect G17)
func TestASessionThatIsNotAsItWas(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"a restored dump": "SELECT pg_catalog.set_config('search_path', '', false)",
		"another tenant":  "SET search_path = tenant",
		"another role":    "SET ROLE nobody",
		"both":            "SET ROLE nobody; SET search_path = tenant",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := database(t)
			psql(t, of, "CREATE SCHEMA tenant; "+tableOf(t, "tenant.holdfast_lock"))
			nobody, _ := newRole(t, of, "")
			user, to := newRole(t, of, "IN ROLE "+nobody)
			psql(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user)
			statement := strings.ReplaceAll(statement, "nobody", nobody)
			var left atomic.Bool
			c := client(t, pool(t, to, leftBehind(statement, &left)), pglock.Options{Lease: time.Second})
			taken(t, c.Lock("first"))
			left.Store(true)
			held, unlock := take(t, within(t), c.Lock("a"))
			eventually(t, func() bool {
				return held.Err() != nil || psql(t, of, "SELECT until > to_timestamp(fence / 1000000.0) + interval '2 s' "+
					"FROM holdfast_lock WHERE name = 'a'") == "t"
			}, "it is renewed")
			require.NoError(t, context.Cause(held))
			busied(t, c)
			_, _, err := client(t, pool(t, of), pglock.Options{}).Lock("a").TryLock(within(t))
			require.ErrorIs(t, err, lock.ErrBusy)
			require.NoError(t, unlock())
			require.Equal(t, "0", psql(t, of, "SELECT count(*) FROM tenant.holdfast_lock"))
			eventually(t, func() bool { // a busy machine may not answer within a lease of a second
				return slices.ContainsFunc(pglock.Check(within(t), c), func(f lock.Finding) bool {
					return f.Name == "table" && strings.Contains(f.Text, `"public"."holdfast_lock"`)
				})
			}, "Check names the table")
		})
	}
}

// A table that the search_path does not lead to is named, and none is to be made beside it. (defect G17)
func TestATableOfAnotherSchema(t *testing.T) {
	t.Parallel()
	of := database(t)
	psql(t, of, "CREATE SCHEMA locks; ALTER TABLE holdfast_lock SET SCHEMA locks")
	c := client(t, pool(t, of), pglock.Options{})
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorContains(t, err, "there is one of that name in the schema locks")
	require.NotContains(t, err.Error(), "pglock.Migrat")
	taken(t, client(t, pool(t, of), pglock.Options{Table: "locks.holdfast_lock"}).Lock("a"))
}

// Clients that name the schema, and others that do not, wake one another. (defect G18)
func TestOneTableHasOneChannel(t *testing.T) {
	t.Parallel()
	of := database(t)
	named := unpolled
	named.Table = "public.holdfast_lock"
	a, b := client(t, pool(t, of), named), client(t, pool(t, of), unpolled)
	for _, pair := range [][2]*pglock.Client{{a, b}, {b, a}} {
		_, unlock := take(t, within(t), forLong(pair[0], "a"))
		got := waiter(t, pair[1].Lock("a"))
		listens(t, of, "a")
		require.NoError(t, unlock())
		require.NoError(t, await(t, got, "the message"))
	}
}

// An address leads to a standby for a moment of a failover. The connections that were made then are not used any more
// when it leads to the primary again. (defect G14)
func TestAnAddressThatLedToAStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	migrate(t, primary.URL())
	standby := primary.Standby(t, false)
	var target atomic.Value
	target.Store(primary.Addr())
	c := client(t, pool(t, primary.URL(), func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, target.Load().(string))
		}
	}), pglock.Options{Lease: 3 * time.Second})
	taken(t, c.Lock("a"))
	held, unlock := take(t, within(t), c.Lock("held", lock.Lease(patience)))

	target.Store(standby.Addr())
	primary.Run(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "+
		"AND backend_type = 'client backend'")
	var all sync.WaitGroup
	for range 4 { // as many as there are connections
		all.Go(func() {
			_, _, err := c.Lock("a").TryLock(within(t))
			if err == nil {
				t.Error("a standby cannot grant anything")
			}
		})
	}
	all.Wait()
	target.Store(primary.Addr())
	for range 4 {
		taken(t, c.Lock("a"))
	}
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// A role or a database that is read-only by default is none that cannot be written to. (defect G14)
func TestReadOnlyByDefault(t *testing.T) {
	t.Parallel()
	of := database(t)
	user, to := newRole(t, of, "")
	psql(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user+"; ALTER ROLE "+user+
		" SET default_transaction_read_only = on")
	taken(t, client(t, pool(t, to), pglock.Options{}).Lock("a"))
}
