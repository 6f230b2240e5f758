package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G11, need 25: Close while fifty goroutines acquire, release and pass on. Nothing is left in Redis, and every
// call ends with a lock that it then releases or finds closed, or with ErrClosed.
func TestCloseDuringAcquisitionsLeavesNoKey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for round := range 15 {
		client := conductClient(t, server.Addr(), nil)
		var turns atomic.Int64
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				// Half of them contend, half have a lock of their own.
				lock := rlock.New(client, fmt.Sprintf("l%d", i%25*(i%2)))
				for {
					held, unlock, err := lock.Lock(context.Background())
					if err != nil {
						if !errors.Is(err, rlock.ErrClosed) {
							t.Errorf("Lock: %v", err)
						}
						return
					}
					turns.Add(1)
					if err := unlock(); err != nil && !errors.Is(err, rlock.ErrClosed) {
						t.Errorf("unlock: %v", err)
					}
					if cause := context.Cause(held); !errors.Is(cause, rlock.ErrClosed) &&
						!errors.Is(cause, rlock.ErrReleased) {
						t.Errorf("cause: %v", cause)
					}
				}
			})
		}
		wanted := int64(20 * (round + 1))
		redistest.Eventually(t, conductLimit, func() bool { return turns.Load() >= wanted }, "all work")
		_ = client.Close() // names what was held in that moment, if anything
		all.Wait()
		require.Empty(t, conductHeldKeys(t, server), "round %d", round)
	}
}

// G11: an unlock that is under way finishes its release; Close waits for it.
func TestCloseDuringAnUnlockLeavesNoKey(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*faultproxy.Gate) faultproxy.Action{
		"request late": faultproxy.HoldRequest,
		"reply late":   faultproxy.HoldReply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := newConductCloseLab(t, time.Minute)
			lock := rlock.New(lab.client, "l")
			held, unlock := conductTake(t, conductCtx(t), lock)
			gate := faultproxy.NewGate()
			stuck := lab.proxy.On(conductScript("release"), how(gate))
			unlocked, closed := make(chan error, 1), make(chan error, 1)
			go func() { unlocked <- unlock() }()
			stuck.Wait(t, 1)
			go func() { closed <- lab.client.Close() }()
			redistest.Eventually(t, conductLimit, func() bool {
				_, err := lock.Held(context.Background())
				_, _, tried := lock.TryLock(conductCtx(t))
				return errors.Is(tried, rlock.ErrClosed) && err != nil
			}, "Close has begun")
			gate.Open()
			require.NoError(t, conductAwait(t, closed, "Close returns"), "it was being unlocked")
			err := conductAwait(t, unlocked, "unlock returns")
			require.True(t, err == nil || errors.Is(err, rlock.ErrClosed), "%v", err)
			require.ErrorIs(t, context.Cause(held), rlock.ErrReleased)
			require.Empty(t, conductHeldKeys(t, lab.server))
		})
	}
}

// G11: Close may be called by several at a time. One tells what was held, and none returns before all
// is joined.
func TestClosesAtOneTime(t *testing.T) {
	t.Parallel()
	lab := newConductCloseLab(t, time.Minute)
	held, _ := conductTake(t, conductCtx(t), rlock.New(lab.client, "l"))
	results := make(chan error, 8)
	var all sync.WaitGroup
	for range cap(results) {
		all.Go(func() {
			err := lab.client.Close()
			if cause := context.Cause(held); !errors.Is(cause, rlock.ErrClosed) {
				t.Errorf("Close returned while %v", cause)
			}
			if keys := conductHeldKeys(t, lab.server); len(keys) > 0 {
				t.Errorf("Close returned while %v are held", keys)
			}
			results <- err
		})
	}
	all.Wait()
	close(results)
	told := 0
	for err := range results {
		if err != nil {
			told++
			require.ErrorContains(t, err, `"l"`)
		}
	}
	require.Equal(t, 1, told)
}

// Everything on a closed client says so, and sends nothing.
func TestAClosedClientRefusesEverything(t *testing.T) {
	t.Parallel()
	var sent redistest.Meter
	client := onredis.Client(t, redistest.Shared(t).Addr(), &sent, rlock.ClientOptions{})
	lock := rlock.New(client, redistest.Key(t))
	held, unlock := conductTake(t, conductCtx(t), lock)
	token, err := lock.Export(held)
	require.NoError(t, err)
	require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	require.NoError(t, client.Close(), "what was exported is not held here any more")
	before := sent.Sent()
	for name, call := range map[string]func(ctx context.Context) error{
		"Lock":    func(ctx context.Context) error { _, _, err := lock.Lock(ctx); return err },
		"TryLock": func(ctx context.Context) error { _, _, err := lock.TryLock(ctx); return err },
		"Do": func(ctx context.Context) error {
			return lock.Do(ctx, func(context.Context) error { return nil })
		},
		"Import":  func(ctx context.Context) error { _, _, err := lock.Import(ctx, token); return err },
		"Inspect": func(ctx context.Context) error { _, err := lock.Inspect(ctx); return err },
		"Break":   lock.Break,
		"New":     func(ctx context.Context) error { _, _, err := rlock.New(client, "n").Lock(ctx); return err },
	} {
		err := call(conductCtx(t))
		require.ErrorIs(t, err, rlock.ErrClosed, name)
		require.NotErrorIs(t, err, rlock.ErrUnavailable, name)
	}
	require.Equal(t, before, sent.Sent())
}

// Close without a server ever having been there.
func TestCloseOfAClientThatNeverSpoke(t *testing.T) {
	t.Parallel()
	client := conductClient(t, "127.0.0.1:1", nil)
	require.NoError(t, client.Close())
	require.NoError(t, client.Close())
}
