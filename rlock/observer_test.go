package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// observed records events in their order, as words.
type observed struct {
	mu     sync.Mutex // guards events
	events []string
}

func (o *observed) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, fmt.Sprintf(format, args...))
}

func (o *observed) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.events...)
}

// observer tells all but renewals, whose number is a matter of time.
func (o *observed) observer() *rlock.Observer {
	return &rlock.Observer{
		Held: func(context.Context, rlock.Call) context.Context { o.add("held"); return nil },
		Lost: func(err *rlock.LostError) { o.add("lost: %v", err.Reason) },
		Ended: func(_ context.Context, _ rlock.Call, _ time.Duration, err error) {
			word := "ended"
			for _, known := range slices.Concat(errorsOfAll, []error{rlock.ErrExported}) {
				if errors.Is(err, known) {
					word += ": " + known.Error()
				}
			}
			o.add("%s", word)
		},
	}
}

// observerLost is the other event of a loss.
var observerLost = "ended: " + rlock.ErrLost.Error()

// observerCases: what is done, and what is told of it.
var observerCases = map[string]struct {
	opts []rlock.Option
	work func(t *testing.T, lock, other *rlock.Lock)
	want []string
}{
	"lock and unlock": {nil, func(t *testing.T, lock, _ *rlock.Lock) {
		_, unlock := conductTake(t, conductCtx(t), lock)
		require.NoError(t, unlock())
		require.Error(t, unlock(), "the second unlock is no release")
	}, []string{"held", "ended"}},
	"levels": {nil, func(t *testing.T, lock, _ *rlock.Lock) {
		held, unlock := conductTake(t, conductCtx(t), lock)
		_, inner := conductTake(t, held, lock)
		require.NoError(t, inner())
		require.NoError(t, unlock())
	}, []string{"held", "ended"}},
	"busy": {nil, func(t *testing.T, lock, other *rlock.Lock) {
		_, unlock := conductTake(t, conductCtx(t), other)
		_, _, err := lock.TryLock(conductCtx(t))
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
	}, nil},
	"a wait for another client": {nil, func(t *testing.T, lock, other *rlock.Lock) {
		_, unlock := conductTake(t, conductCtx(t), other)
		timer := time.AfterFunc(observerLease, func() { _ = unlock() })
		defer timer.Stop()
		_, unlock2 := conductTake(t, conductCtx(t), lock)
		require.NoError(t, unlock2())
	}, []string{"held", "ended"}},
	"a wait here and then there": {nil, observerWaitsTwice,
		[]string{"held", "lost: " + rlock.LossGone.String(), "held", observerLost, "ended"}},
	"a wait that is given up": {[]rlock.Option{rlock.MaxWait(time.Second)},
		func(t *testing.T, lock, other *rlock.Lock) {
			_, unlock := conductTake(t, conductCtx(t), other)
			_, _, err := lock.Lock(conductCtx(t))
			require.ErrorIs(t, err, rlock.ErrBusy)
			require.NoError(t, unlock())
		}, nil},
	"a lost hold": {nil, func(t *testing.T, lock, other *rlock.Lock) {
		held, unlock := conductTake(t, conductCtx(t), lock)
		require.NoError(t, other.Break(conductCtx(t)))
		<-held.Done()
		require.ErrorIs(t, unlock(), rlock.ErrLost)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}, []string{"held", "lost: " + rlock.LossGone.String(), observerLost}},
	"a loss that unlock finds": {nil, func(t *testing.T, lock, other *rlock.Lock) {
		_, unlock := conductTake(t, conductCtx(t), lock)
		require.NoError(t, other.Break(conductCtx(t)))
		require.ErrorIs(t, unlock(), rlock.ErrLost)
	}, []string{"held", "lost: " + rlock.LossGone.String(), observerLost}},
	"a fixed lease": {[]rlock.Option{rlock.FixedLease(200 * time.Millisecond)},
		func(t *testing.T, lock, _ *rlock.Lock) {
			held, unlock := conductTake(t, conductCtx(t), lock)
			<-held.Done()
			require.ErrorIs(t, unlock(), rlock.ErrLost)
		}, []string{"held", "lost: " + rlock.LossExpired.String(), observerLost}},
	"the longest hold": {[]rlock.Option{rlock.MaxHold(100 * time.Millisecond)},
		func(t *testing.T, lock, _ *rlock.Lock) {
			held, unlock := conductTake(t, conductCtx(t), lock)
			<-held.Done()
			require.ErrorIs(t, unlock(), rlock.ErrLost)
		}, []string{"held", "lost: " + rlock.LossMaxHold.String(), observerLost}},
	"export and import": {nil, func(t *testing.T, lock, _ *rlock.Lock) {
		held, unlock := conductTake(t, conductCtx(t), lock)
		token, err := lock.Export(held)
		require.NoError(t, err)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
		_, unlock, err = lock.Import(conductCtx(t), token)
		require.NoError(t, err)
		require.NoError(t, unlock())
	}, []string{"held", "ended: " + rlock.ErrExported.Error(), "held", "ended"}},
}

// observerWaitsTwice: the waiter stands behind its own client first, and then another client has the
// lock. That is one wait.
func observerWaitsTwice(t *testing.T, lock, other *rlock.Lock) {
	held, unlock := conductTake(t, conductCtx(t), lock)
	got := make(chan conductGrant, 1)
	go func() {
		held, unlock, err := lock.Lock(conductCtx(t))
		got <- conductGrant{held, unlock, err}
	}()
	redistest.Eventually(t, conductLimit, func() bool {
		info, err := lock.Inspect(conductCtx(t))
		return err == nil && info.Waiters == 1
	}, "it waits here")
	require.NoError(t, other.Break(conductCtx(t)))
	_, unlockOther := conductTake(t, conductCtx(t), other)
	<-held.Done()
	redistest.Eventually(t, conductLimit, func() bool {
		return slices.Contains(redistest.Shared(t).PubSubChannels(t), "redisson_lock__channel:{"+lock.Name()+"}")
	}, "it waits there")
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	require.NoError(t, unlockOther())
	g := conductAwait(t, got, "it is in")
	require.NoError(t, g.err)
	require.NoError(t, g.unlock())
}

// Need 23: each event exactly once for each operation.
func TestEachEventOnce(t *testing.T) {
	t.Parallel()
	for name, test := range observerCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, key := redistest.Shared(t), redistest.Key(t)
			var seen observed
			client := conductClient(t, server.Addr(), &rlock.ClientOptions{
				Lease: observerLease, Observer: seen.observer(),
			})
			test.work(t, rlock.New(client, key, test.opts...),
				rlock.New(conductClient(t, server.Addr(), nil), key))
			require.NoError(t, client.Close(), "it waits until everything was told")
			// Lost is told by a goroutine of its own, at some time after the loss.
			require.ElementsMatch(t, test.want, seen.all())
			if len(test.want) > 0 {
				require.Equal(t, test.want[0], seen.all()[0])
			}
		})
	}
}

// Times and names that events carry.
func TestEventsTellNamesAndTimes(t *testing.T) {
	t.Parallel()
	server, key := redistest.Shared(t), redistest.Key(t)
	var waited, held []time.Duration
	var names []string
	client := conductClient(t, server.Addr(), &rlock.ClientOptions{Observer: &rlock.Observer{
		End: func(_ context.Context, call rlock.Call, d time.Duration, _ error) {
			names, waited = append(names, call.Name), append(waited, d)
		},
		Ended: func(_ context.Context, call rlock.Call, d time.Duration, _ error) {
			names, held = append(names, call.Name), append(held, d)
		},
	}, Prefix: "app:"})
	_, unlock := conductTake(t, conductCtx(t),
		rlock.New(conductClient(t, server.Addr(), nil), "app:"+key))
	freed := make(chan error, 1)
	var least time.Duration
	go func() {
		redistest.Eventually(t, conductLimit, func() bool { return client.Stats().Waiters == 1 }, "it waits")
		began := time.Now()
		redistest.Eventually(t, conductLimit, func() bool { return time.Since(began) > 50*time.Millisecond }, "a while")
		least = time.Since(began)
		freed <- unlock()
	}()
	began := time.Now()
	inside, unlockOwn := conductTake(t, conductCtx(t), rlock.New(client, key))
	most := time.Since(began)
	require.NoError(t, <-freed)
	require.NoError(t, inside.Err())
	require.NoError(t, unlockOwn())
	require.Equal(t, []string{key, key}, names, "the name, not the key")
	require.Len(t, waited, 1)
	require.Greater(t, waited[0], least)
	require.LessOrEqual(t, waited[0], most)
	require.Len(t, held, 1)
	require.Positive(t, held[0])
	require.LessOrEqual(t, held[0], time.Since(began)-least)
}

// Need 23: no observer, and one without functions, cost nothing. Not parallel: it counts the
// allocations of the whole process.
func TestNoObserverCostsNothing(t *testing.T) {
	server := redistest.Shared(t)
	measure := func(observer *rlock.Observer) float64 {
		client := conductClient(t, server.Addr(), &rlock.ClientOptions{Observer: observer})
		lock, ctx := rlock.New(client, redistest.Key(t)), context.Background()
		return testing.AllocsPerRun(300, func() {
			_, unlock, err := lock.Lock(ctx)
			if err == nil {
				err = unlock()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	none, empty := measure(nil), measure(&rlock.Observer{})
	full := measure(&rlock.Observer{
		Renewed: func(rlock.Renewal) {},
		Lost:    func(*rlock.LostError) {},
	})
	require.InDelta(t, none, empty, 1)
	require.InDelta(t, none, full, 1, "an Observer without functions for calls and holds costs nothing")
}
