package postgres_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// orders are what a process is told.
type orders struct {
	URL   string
	Lease time.Duration
}

// open makes a process's own client.
func (o orders) open() (*pgxpool.Pool, *pglock.Client) {
	pool, err := pgxpool.New(context.Background(), o.URL)
	role.Check(err)
	c, err := pglock.NewClient(pool, &pglock.Options{
		Lease: o.Lease, MaxPoll: unpolled, ReleaseTimeout: time.Second, Logger: quiet,
	})
	role.Check(err)
	return pool, c
}

// holder takes a lock, and gives it back when it is told to.
var holder = role.New("holder", func(o orders) {
	_, c := o.open()
	fmt.Println("waits")
	held, unlock, err := c.Lock("a").Lock(context.Background())
	role.Check(err)
	hold, err := c.Lock("a").Held(held)
	role.Check(err)
	fmt.Println("held", hold.Fence)
	role.Told()
	role.Check(unlock())
	fmt.Println("free")
})

// until is the end of the lease of a lock, and now the newest token, in µs of the server's clock. A token is the time
// when it was granted.
func until(t *testing.T, of string) (end, newest int64) {
	t.Helper()
	_, err := fmt.Sscanf(pgtest.Run(t, of, "SELECT (extract(epoch FROM until) * 1000000)::bigint, fence "+
		"FROM holdfast_lock WHERE name = 'a'"), "%d|%d", &end, &newest)
	require.NoError(t, err)
	return end, newest
}

// A process that is killed keeps its lock until its lease is over, and not longer: a waiter has it then. One that is
// killed while it waits leaves nothing.
func TestProcessesThatAreKilled(t *testing.T) {
	t.Parallel()
	of := database(t)
	o := orders{of, 3 * time.Second}
	first := holder.Start(t, o)
	first.Hears("waits")
	before, err := strconv.ParseInt(first.Hears("held"), 10, 64)
	require.NoError(t, err)
	second := holder.Start(t, o)
	second.Hears("waits")
	listens(t, of, "a")
	first.Kill()
	end, _ := until(t, of)
	after, err := strconv.ParseInt(second.Hears("held"), 10, 64)
	require.NoError(t, err)
	require.Greater(t, after, before)
	require.GreaterOrEqual(t, after, end, "it was granted when the lease was over")

	third := holder.Start(t, o)
	third.Hears("waits")
	c := client(t, of, pglock.Options{MaxPoll: unpolled})
	got := waiter(t, c.Lock("a"))
	eventually(t, func() bool {
		return pgtest.Run(t, of, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
			"AND query LIKE 'LISTEN%'") == "3"
	}, "both listen, and the second one did")
	third.Kill()
	second.Say("unlock")
	second.Hears("free")
	require.NoError(t, await(t, got, "the one that is left"))
	isFree(t, of, "a")
	eventually(t, func() bool {
		return pgtest.Run(t, of, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
			"AND backend_type = 'client backend' AND query LIKE 'LISTEN%'") == "1"
	}, "their sessions have ended")
}

// closer is in the middle of everything when it is told to close its client, and says what is left then.
var closer = role.New("closer", func(o orders) {
	known := goleak.IgnoreCurrent()
	pool, c := o.open()
	var held []context.Context
	for _, name := range []string{"a", "b", "c"} {
		ctx, _, err := c.Lock(name, lock.Lease(time.Minute)).Lock(context.Background())
		role.Check(err)
		held = append(held, ctx)
	}
	waited := make(chan error, 2)
	for range cap(waited) { // one waits in the table, and the other one behind it
		go func() {
			_, _, err := c.Lock("busy").Lock(context.Background())
			waited <- err
		}()
	}
	fmt.Println("holds")
	role.Told()
	tried := make(chan error, 1)
	go func() {
		_, _, err := c.Lock("d").TryLock(context.Background())
		tried <- err
	}()
	fmt.Println("closed", c.Close() != nil)
	pool.Close()
	for _, ctx := range held {
		<-ctx.Done()
	}
	fmt.Println("ended", <-waited, <-waited, <-tried)
	err := goleak.Find(known)
	for deadline := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(deadline); {
		err = goleak.Find(known)
	}
	fmt.Println("left", err != nil, strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	role.Told()
})

// A client closes while the server stands still. It is done in its time, all that was under way has ended, and no
// goroutine is left; nothing of it is left on the server when that goes on.
func TestCloseWhileTheServerStandsStill(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	migrate(t, server.URL())
	busy, unlock := take(t, client(t, server.URL(), pglock.Options{}).Lock("busy", lock.Lease(patience)))
	p := closer.Start(t, orders{server.URL(), 3 * time.Second})
	p.Hears("holds")
	listens(t, server.URL(), "busy")
	server.Freeze()
	p.Say("close")
	require.Equal(t, "true", p.Hears("closed"), "it held something")
	require.Equal(t, 3, strings.Count(p.Hears("ended"), "the client is closed"))
	require.Equal(t, "false <nil>", p.Hears("left"))
	server.Thaw()
	eventually(t, func() bool {
		return server.Run(t, "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid() "+
			"AND backend_type = 'client backend'") == "0"
	}, "the server has done what it had been sent")
	require.Equal(t, "0", server.Run(t,
		"SELECT count(*) FROM holdfast_lock WHERE name = 'd' AND until > clock_timestamp()"))
	require.NoError(t, busy.Err())
	require.NoError(t, unlock())
}
