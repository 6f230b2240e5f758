package stores

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/zklock"
)

func TestMain(m *testing.M) {
	role.Play()
	servers.InParallel(24) // they wait for leases
	servers.Main(m)
}

const (
	// patience bounds every wait for something that must happen. Nothing is measured against it.
	patience = 2 * time.Minute
	lease    = 15 * time.Second
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// client is the client of any store.
type client interface {
	lock.Provider
	Stats() lock.Stats
	Close() error
}

// open makes a client of a store at an address, with all defaults but its lease, and says how to end it.
func open(store, at string) (c client, end func(), err error) {
	switch store {
	case "Redis":
		rdb := redis.NewClient(&redis.Options{Addr: at})
		c, err = rlock.NewClient(rdb, &rlock.ClientOptions{Lease: lease, Logger: quiet})
		end = func() { _ = rdb.Close() }
	case "PostgreSQL":
		var pool *pgxpool.Pool
		if pool, err = pgxpool.New(context.Background(), at); err != nil {
			return nil, nil, err
		}
		c, err = pglock.NewClient(pool, &pglock.Options{Lease: lease, Logger: quiet})
		end = pool.Close
	case "etcd":
		var cli *clientv3.Client
		if cli, err = clientv3.New(clientv3.Config{Endpoints: []string{at}, Logger: zap.NewNop()}); err != nil {
			return nil, nil, err
		}
		c, err = etcdlock.NewClient(cli, &etcdlock.Options{Lease: lease, Logger: quiet})
		end = func() { _ = cli.Close() }
	case "ZooKeeper":
		c, err = zklock.NewClient([]string{at}, &zklock.Options{Lease: lease, Logger: quiet})
		end = func() {}
	default:
		err = fmt.Errorf("there is no store %q", store)
	}
	return c, end, err
}

// start starts the server of a store, and returns its address.
func start(t *testing.T, store string) string {
	t.Helper()
	switch store {
	case "Redis":
		return redistest.Start(t).Addr()
	case "PostgreSQL":
		all, err := pglock.Migrations("")
		require.NoError(t, err)
		of := pgtest.Start(t).URL()
		for _, m := range all {
			pgtest.Run(t, of, m.SQL)
		}
		return of
	case "ZooKeeper":
		return zktest.Start(t, zktest.Options{}).Addr()
	}
	return etcdtest.Start(t).Endpoint()
}

type orders struct{ Store, At, Name string }

// holder takes a lock, and says its token.
var holder = role.New("holder", func(o orders) {
	c, _, err := open(o.Store, o.At)
	role.Check(err)
	l := c.Lock(o.Name)
	held, _, err := l.Lock(context.Background())
	role.Check(err)
	hold, err := l.Held(held)
	role.Check(err)
	fmt.Println("held", hold.Fence)
	role.Told()
})

// The lock of a process that dies passes to the waiter when its lease is over. Processes die at several instants between
// two renewals, which come every third of a lease.
func TestTheNextHolderAfterACrash(t *testing.T) {
	for _, store := range []string{"Redis", "PostgreSQL", "etcd", "ZooKeeper"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			at := start(t, store)
			const deaths = 5
			waits := make(chan time.Duration, deaths)
			t.Run("deaths", func(t *testing.T) {
				for i := range deaths {
					t.Run(strconv.Itoa(i), func(t *testing.T) {
						t.Parallel()
						waits <- crash(t, orders{store, at, fmt.Sprint("name", i)}, lease/3+lease/3*time.Duration(i)/deaths)
					})
				}
			})
			close(waits)
			var all []time.Duration
			for wait := range waits {
				all = append(all, wait)
			}
			require.Len(t, all, deaths)
			t.Logf("%s: lease %v, and the next has the lock %v to %v after the crash", store, lease,
				slices.Min(all).Round(10*time.Millisecond), slices.Max(all).Round(10*time.Millisecond))
		})
	}
}

// crash has a process die some time after it took the lock, and returns how long the next one waited from then on.
func crash(t *testing.T, o orders, age time.Duration) time.Duration {
	t.Helper()
	child := holder.Start(t, o)
	before, err := strconv.ParseInt(child.Hears("held"), 10, 64)
	require.NoError(t, err)
	took := time.Now()
	c, end, err := open(o.Store, o.At)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(); end() })
	l := c.Lock(o.Name)
	type turn struct {
		fence int64
		err   error
	}
	got := make(chan turn, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		var next turn
		next.err = l.Do(ctx, func(ctx context.Context) error {
			hold, err := l.Held(ctx)
			next.fence = hold.Fence
			return err
		})
		got <- next
	}()
	servers.Eventually(t, patience, func() bool { return c.Stats().Waiters == 1 && time.Since(took) > age }, "it is time")
	child.Kill()
	died := time.Now()
	next := servers.Receive(t, patience, got, "the next has the lock")
	require.NoError(t, next.err)
	require.Greater(t, next.fence, before)
	return time.Since(died)
}
