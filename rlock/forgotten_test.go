package rlock_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// forgetful is a client whose connections a balancer can forget.
type forgetful struct {
	*rlock.Client
	proxy  *faultproxy.Proxy
	log    *observerLog
	events lossEvents
	dials  *redistest.Meter
	key    string
}

func newForgetful(t *testing.T, lease time.Duration) *forgetful {
	t.Helper()
	return newForgetfulAt(t, redistest.Shared(t), rlock.ClientOptions{Lease: lease})
}

func newForgetfulAt(t *testing.T, server *redistest.Server, opts rlock.ClientOptions) *forgetful {
	t.Helper()
	f := &forgetful{
		proxy: faultproxy.Start(t, server.Addr()), log: &observerLog{}, key: redistest.Key(t),
		events: lossEvents{renewed: map[string]int{}, failed: map[string]int{}}, dials: &redistest.Meter{},
	}
	rdb := redis.NewClient(&redis.Options{Addr: f.proxy.Addr(), Dialer: f.dials.Dial})
	t.Cleanup(func() { _ = rdb.Close() })
	var err error
	opts.Logger, opts.Observer = slog.New(f.log), f.events.observer()
	f.Client, err = rlock.NewClient(rdb, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// busy leaves idle connections in the pool, after some exchanges that were quick.
func (f *forgetful) busy(t *testing.T) {
	t.Helper()
	f.busyWith(t, 32, 5)
}

func (f *forgetful) busyWith(t *testing.T, callers, turns int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range callers {
		lock := rlock.New(f.Client, f.key+":"+string(rune('a'+i)))
		all.Go(func() {
			for range turns {
				if err := lock.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, rlock.New(f.Client, f.key).Do(t.Context(), func(context.Context) error { return nil }))
}

func (f *forgetful) forgets(t *testing.T) {
	t.Helper()
	f.busy(t)
	f.forgotten(t)
}

func (f *forgetful) forgotten(t *testing.T) {
	t.Helper()
	require.Greater(t, f.proxy.Forget(), 1, "there is more than one idle connection")
}

// A balancer that forgets idle connections, and tells neither side, costs no call: each is served within the time of
// one request, by a new connection. Nobody is told that Redis is unavailable (defect G3).
func TestConnectionsThatWereForgottenCostNoCall(t *testing.T) {
	t.Parallel()
	for what, call := range map[string]func(t *testing.T, f *forgetful, lock *rlock.Lock){
		"TryLock": func(t *testing.T, f *forgetful, lock *rlock.Lock) {
			f.forgets(t)
			_, unlock, err := lock.TryLock(t.Context())
			require.NoError(t, err)
			require.NoError(t, unlock())
		},
		"Lock": func(t *testing.T, f *forgetful, lock *rlock.Lock) {
			f.forgets(t)
			_, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, unlock())
		},
		"unlock": func(t *testing.T, f *forgetful, lock *rlock.Lock) {
			_, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			f.forgets(t)
			require.NoError(t, unlock())
		},
		"Inspect": func(t *testing.T, f *forgetful, lock *rlock.Lock) {
			f.forgets(t)
			_, err := lock.Inspect(t.Context())
			require.NoError(t, err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newForgetful(t, 0)
			lock := rlock.New(f.Client, f.key+":job")
			call(t, f, lock)
			began := time.Now()
			for range 8 {
				_, unlock, err := lock.TryLock(t.Context())
				require.NoError(t, err)
				require.NoError(t, unlock())
			}
			require.Less(t, time.Since(began), 3*time.Second, "no other call waits for a connection that was forgotten")
			require.Empty(t, f.log.with(outageBegins))
		})
	}
}

// So is a renewal: it is sent once more within its own time, and does not fail (defect G3).
func TestAHoldOutlivesConnectionsThatWereForgotten(t *testing.T) {
	t.Parallel()
	newForgetful(t, 9*time.Second).outlives(t, func(f *forgetful) { f.busy(t) })
}

// So it is where replicas confirm what is written, which takes longer (defect G3).
func TestConfirmedCallsOutliveConnectionsThatWereForgotten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	redistest.Replica(t, server)
	f := newForgetfulAt(t, server, rlock.ClientOptions{Lease: 18 * time.Second, MinReplicas: 1})
	warm := func(f *forgetful) { f.busyWith(t, 4, 2) }
	for range 2 {
		warm(f)
		f.forgotten(t)
		_, unlock, err := rlock.New(f.Client, f.key+":job").TryLock(t.Context())
		require.NoError(t, err)
		require.NoError(t, unlock())
	}
	f.outlives(t, warm)
}

// outlives has a hold be renewed when connections were forgotten that were in use before.
func (f *forgetful) outlives(t *testing.T, use func(*forgetful)) {
	t.Helper()
	held, unlock, err := rlock.New(f.Client, f.key+":job").Lock(t.Context())
	require.NoError(t, err)
	use(f)
	f.forgotten(t)
	redistest.Eventually(t, lossPatience, func() bool {
		return held.Err() != nil || f.events.count(&f.events.renewed, f.key+":job") > 0
	}, "the hold is neither renewed nor lost")
	require.NoError(t, held.Err(), "%v", context.Cause(held))
	require.Zero(t, f.events.count(&f.events.failed, f.key+":job"), "renewals that failed")
	require.NoError(t, unlock())
}

// A server that hangs is not stormed with connections, and calls end as they would without any suspicion (defect G3).
func TestAServerThatHangsIsNotStormed(t *testing.T) {
	t.Parallel()
	f := newForgetful(t, 0)
	f.busy(t)
	before := f.dials.Dials()
	f.proxy.Blackhole(true)
	var all sync.WaitGroup
	const calls = 64
	for i := range calls {
		lock := rlock.New(f.Client, f.key+":"+string(rune('a'+i)))
		all.Go(func() {
			_, _, err := lock.TryLock(t.Context())
			if err == nil {
				t.Error("it has a lock of a server that hangs")
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, f.dials.Dials()-before, int64(3*8), "exchanges under way at a time: eight")
	f.proxy.Blackhole(false)
	_, unlock, err := rlock.New(f.Client, f.key+":job").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
}
