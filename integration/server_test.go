package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// faults.md 13, need 21: the scripts vanish all the time, and no caller notices.
func TestScriptFlushInALoop(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: 900 * time.Millisecond})
	stop := make(chan struct{})
	var flusher sync.WaitGroup
	flusher.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				if err := admin.ScriptFlush(context.Background()).Err(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	keptLock := rlock.New(client, "kept")
	ctx, unlock := held(t, keptLock)
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			lock := rlock.New(client, fmt.Sprint("flushed", i%2))
			for range 50 {
				err := lock.Do(context.Background(), func(ctx context.Context) error {
					return lock.Do(ctx, func(context.Context) error { return nil })
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	events.renewedAgain(t, 3, keptLock.Name())
	close(stop)
	flusher.Wait()
	alive(t, keptLock, ctx)
	require.NoError(t, unlock())
	require.Empty(t, events.failures(keptLock.Name()))
	require.Empty(t, events.losses())
}

// faults.md 6: a server that comes back empty has forgotten the hold, and its owner learns of it with the next
// renewal. One that kept its data still has the hold, and its owner notices nothing.
func TestARestartedServer(t *testing.T) {
	for name, keeps := range map[string]bool{"empty": false, "with its data": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lease = 6 * time.Second
			var opts []redistest.Option
			if keeps {
				opts = append(opts, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
			}
			server := redistest.Start(t, opts...)
			client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
			lock := rlock.New(client, "restarted")
			ctx, unlock := held(t, lock)
			fence := alive(t, lock, ctx).Fence
			server.Kill()
			server.Restart()
			if keeps {
				events.renewedAgain(t, 1, lock.Name())
				require.Equal(t, fence, alive(t, lock, ctx).Fence)
				require.NoError(t, unlock())
			} else {
				redistest.Receive(t, limit, ctx.Done(), "the hold is believed in, and Redis has none")
				var lost *rlock.LostError
				require.ErrorAs(t, context.Cause(ctx), &lost)
				require.Equal(t, rlock.LossGone, lost.Reason)
				require.ErrorIs(t, unlock(), rlock.ErrLost)
			}
			// G13: tokens grow over a restart that lost the data.
			ctx, unlock = held(t, lock)
			require.Greater(t, alive(t, lock, ctx).Fence, fence)
			require.NoError(t, unlock())
		})
	}
}

// Bug 30: a waiter survives a restart, and gets the lock that Redis has forgotten.
func TestAWaiterLivesThroughARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	holder, _ := newClient(t, server.Client(t), rlock.ClientOptions{})
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{})
	lock := rlock.New(client, "waited")
	_, unlock := held(t, rlock.New(holder, lock.Name()))
	waiter := waiting(t, events, lock)
	server.Kill()
	server.Restart()
	o := arrives(t, waiter)
	require.ErrorIs(t, unlock(), rlock.ErrLost, "it is another's by now")
	alive(t, lock, o.ctx)
	require.NoError(t, o.unlock())
}

// faults.md 0.8, need 21: at full memory holds can be renewed and released, and nothing new can be taken.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithArgs("--maxmemory-policy", "noeviction"))
	admin := server.Client(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: 1500 * time.Millisecond})
	lock, nested := rlock.New(client, "held"), rlock.New(client, "nested")
	ctx, unlock := held(t, lock)
	outer, unlockOuter := held(t, nested)
	_, unlockInner, err := nested.Lock(outer)
	require.NoError(t, err)
	waiter := waiting(t, events, lock)
	require.NoError(t, admin.ConfigSet(context.Background(), "maxmemory", "1").Err())

	_, _, err = rlock.New(client, "new").TryLock(context.Background())
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.True(t, strings.Contains(err.Error(), "OOM"), err)
	patient, cancel := context.WithTimeout(outer, limit/2)
	defer cancel()
	_, unlockThird, err := nested.Lock(patient)
	require.NoError(t, err, "it needs no memory")
	require.NoError(t, unlockThird())
	_, _, err = rlock.New(client, "new").Lock(patient)
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "it gives up by itself, after a lease")
	events.renewedAgain(t, 3, lock.Name(), nested.Name())
	alive(t, lock, ctx)
	require.NoError(t, unlockInner())
	require.Equal(t, 1, alive(t, nested, outer).Count)
	require.NoError(t, unlockOuter())
	require.NoError(t, unlock())
	require.False(t, exists(t, server, lock.Name()) || exists(t, server, nested.Name()) ||
		exists(t, server, "new"))

	require.NoError(t, admin.ConfigSet(context.Background(), "maxmemory", "0").Err())
	require.NoError(t, arrives(t, waiter).unlock(), "it went on asking")
	_, unlock = held(t, rlock.New(client, "new"))
	require.NoError(t, unlock())
	require.Empty(t, events.losses())
}
