package rlock_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// commandWays: what happens to an acquisition, and how many of its sendings fail.
var commandWays = map[string]struct {
	action faultproxy.Action
	fails  int
}{
	"answered":                     {faultproxy.Pass, 0},
	"refused":                      {faultproxy.AnswerError("NOPERM this user has no permissions"), 1},
	"cut off before it arrives":    {faultproxy.CutBefore, 1},
	"cut off after it was done":    {faultproxy.CutAfter, 1},
	"its reply is cut in the half": {faultproxy.CutReplyAt(1), 1},
}

// Each script that is sent is told of once, whatever becomes of it: as many as reached the server's side.
func TestEachCommandIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, way := range commandWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, proxy, client := commandLab(t, nil)
			lock := rlock.New(client, redistest.Key(t))
			conductTakeOnce(t, lock) // the server knows the scripts, and the connection stands
			before := len(log.Of("acquire"))
			proxy.On(faultproxy.Script(luacall.SHA("acquire")), way.action).Times(1)
			if _, unlock, err := lock.TryLock(conductCtx(t)); err == nil {
				require.NoError(t, unlock())
			}
			require.NoError(t, client.Close(), "it waits until everything was told")
			require.Len(t, log.Of(""), proxy.Requests(faultproxy.AnyScript))
			require.Greater(t, len(log.Of("acquire")), before)
			require.Equal(t, way.fails, log.Failed("acquire"))
			for _, c := range log.Of("") {
				require.NotEmpty(t, c.Script)
				require.Positive(t, c.Calls)
				require.Positive(t, c.Took)
			}
		})
	}
}

// conductTakeOnce locks and unlocks.
func conductTakeOnce(t *testing.T, lock *rlock.Lock) {
	t.Helper()
	_, unlock := conductTake(t, conductCtx(t), lock)
	require.NoError(t, unlock())
}

// commandLab is a client behind a proxy, on a server that knows the scripts.
func commandLab(t *testing.T, opts *rlock.ClientOptions) (*observertest.Commands, *faultproxy.Proxy, *rlock.Client) {
	t.Helper()
	server := redistest.Shared(t)
	conductTakeOnce(t, rlock.New(conductClient(t, server.Addr(), nil), redistest.Key(t)))
	log, proxy := &observertest.Commands{}, faultproxy.Start(t, server.Addr())
	if opts == nil {
		opts = &rlock.ClientOptions{}
	}
	opts.Observer = &rlock.Observer{Command: log.Add}
	return log, proxy, conductClient(t, proxy.Addr(), opts)
}

// A caller that leaves does not take the event of its command along.
func TestACommandWhoseCallerLeftIsTold(t *testing.T) {
	t.Parallel()
	log, proxy, client := commandLab(t, nil)
	lock := rlock.New(client, redistest.Key(t))
	conductTakeOnce(t, lock)
	gate := faultproxy.NewGate()
	stuck := proxy.On(faultproxy.Script(luacall.SHA("acquire")), faultproxy.HoldReply(gate)).Times(1)
	ctx, cancel := context.WithCancel(conductCtx(t))
	left := make(chan error, 1)
	go func() {
		_, _, err := lock.Lock(ctx)
		left <- err
	}()
	stuck.Wait(t, 1)
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	gate.Open()
	require.NoError(t, client.Close())
	require.Len(t, log.Of(""), proxy.Requests(faultproxy.AnyScript))
}

// What goes in pipelines and bundles, as renewals, and over the connection on which WAIT follows is told as well.
func TestCommandsAreToldHoweverTheyAreSent(t *testing.T) {
	t.Parallel()
	t.Run("many at a time", func(t *testing.T) {
		t.Parallel()
		log, proxy, client := commandLab(t, nil)
		key := redistest.Key(t)
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				_, unlock, err := rlock.New(client, fmt.Sprint(key, i)).Lock(conductCtx(t))
				if err == nil {
					err = unlock()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.NoError(t, client.Close())
		require.Len(t, log.Of(""), proxy.Requests(faultproxy.AnyScript))
	})
	t.Run("renewals", func(t *testing.T) {
		t.Parallel()
		log, _, client := commandLab(t, &rlock.ClientOptions{Lease: observerLease})
		_, unlock := conductTake(t, conductCtx(t), rlock.New(client, redistest.Key(t)))
		redistest.Eventually(t, conductLimit, func() bool { return len(log.Of("renew")) > 0 }, "a renewal is told")
		require.NoError(t, unlock())
	})
	t.Run("minimum replicas", func(t *testing.T) {
		t.Parallel()
		log, proxy, client := commandLab(t, &rlock.ClientOptions{MinReplicas: 1})
		_, _, err := rlock.New(client, redistest.Key(t)).TryLock(conductCtx(t))
		require.ErrorIs(t, err, rlock.ErrUnavailable, "there are no replicas")
		require.NoError(t, client.Close())
		require.NotEmpty(t, log.Of("acquire"))
		require.Len(t, log.Of(""), proxy.Requests(faultproxy.AnyScript))
	})
}

// An observer that blocks, or panics, delays no command.
func TestAnObserverOfCommandsDelaysNone(t *testing.T) {
	t.Parallel()
	server, done := redistest.Shared(t), make(chan struct{})
	var once sync.Once
	client := conductClient(t, server.Addr(), &rlock.ClientOptions{Observer: &rlock.Observer{
		Command: func(rlock.Command) {
			once.Do(func() { panic("in the observer") })
			<-done
		},
	}})
	for range 3 {
		conductTakeOnce(t, rlock.New(client, redistest.Key(t)))
	}
	close(done)
	require.NoError(t, client.Close())
}

// On a cluster the answers of each node are told, and those that redirect.
func TestCommandsToAClusterAreTold(t *testing.T) {
	t.Parallel()
	cluster, log := redistest.Cluster(t, 2), &observertest.Commands{}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Observer: &rlock.Observer{Command: log.Add}})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			_, unlock, err := rlock.New(client, fmt.Sprint("told:", i)).Lock(conductCtx(t))
			if err == nil {
				err = unlock()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, client.Close())
	var total atomic.Int64
	require.NoError(t, rdb.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		stats := node.Info(ctx, "commandstats").Val()
		for _, of := range []string{"cmdstat_eval:calls=", "cmdstat_evalsha:calls="} {
			if _, number, found := strings.Cut(stats, of); found {
				number, _, _ = strings.Cut(number, ",")
				calls, err := strconv.Atoi(number)
				if err != nil {
					return err
				}
				total.Add(int64(calls))
			}
		}
		return nil
	}))
	require.EqualValues(t, total.Load(), len(log.Of("")))
}
