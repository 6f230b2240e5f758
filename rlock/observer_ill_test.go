package rlock_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// observerLog is a log handler that remembers.
type observerLog struct {
	mu      sync.Mutex // guards records
	records []slog.Record
}

func (l *observerLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *observerLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *observerLog) WithGroup(string) slog.Handler            { return l }

func (l *observerLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r.Clone())
	return nil
}

func (l *observerLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.records)
}

// with returns the attributes of each record of that message, which begins with the name of the library.
func (l *observerLog) with(message string) []map[string]slog.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []map[string]slog.Value
	for _, r := range l.records {
		if r.Message != "holdfast: "+message {
			continue
		}
		attrs := make(map[string]slog.Value)
		r.Attrs(func(a slog.Attr) bool { attrs[a.Key] = a.Value; return true })
		found = append(found, attrs)
	}
	return found
}

// observerLease is renewed three times, and may do without two of them: a busy machine stops a process for half a second.
const observerLease = 1500 * time.Millisecond

// observerStands asserts that a hold is renewed: for some leases another client does not get in.
func observerStands(t *testing.T, server *redistest.Server, key string, held context.Context) {
	t.Helper()
	other := rlock.New(conductClient(t, server.Addr(), nil), key, rlock.MaxWait(3*observerLease))
	_, _, err := other.Lock(conductCtx(t))
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NoError(t, held.Err())
}

// Bug 21 (RedLock.net#110): a callback cannot affect the renewal, whatever it does.
func TestAnIllObserverDoesNotStopRenewals(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(calls int64, done <-chan struct{}){
		"panics":       func(int64, <-chan struct{}) { panic("in the observer") },
		"panics once":  func(calls int64, _ <-chan struct{}) { panicOn(calls == 1) },
		"blocks":       func(_ int64, done <-chan struct{}) { <-done },
		"takes a time": func(_ int64, done <-chan struct{}) { waitFor(done, observerLease/2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, key := redistest.Shared(t), redistest.Key(t)
			done, log := make(chan struct{}), &observerLog{}
			var calls atomic.Int64
			client := conductClient(t, server.Addr(), &rlock.ClientOptions{
				Lease: observerLease, Logger: slog.New(log),
				Observer: &rlock.Observer{Renewed: func(rlock.Renewal) { act(calls.Add(1), done) }},
			})
			held, unlock := conductTake(t, conductCtx(t), rlock.New(client, key))
			observerStands(t, server, key, held)
			require.NoError(t, unlock())
			require.Positive(t, calls.Load())
			if name == "panics" {
				redistest.Eventually(t, conductLimit, func() bool {
					return len(log.with("a function of the Observer panicked; locks are not affected")) > 1
				}, "each panic is logged")
			}
			close(done)
			require.NoError(t, client.Close())
		})
	}
}

func panicOn(yes bool) {
	if yes {
		panic("in the observer")
	}
}

func waitFor(done <-chan struct{}, d time.Duration) {
	select {
	case <-done:
	case <-time.After(d):
	}
}

// An observer may lock inside Lost, even the same lock; others are renewed meanwhile.
func TestLockingInsideLost(t *testing.T) {
	t.Parallel()
	server, key, kept := redistest.Shared(t), redistest.Key(t), redistest.Key(t)
	var client *rlock.Client
	again := make(chan error, 1)
	client = conductClient(t, server.Addr(), &rlock.ClientOptions{
		Lease: observerLease,
		Observer: &rlock.Observer{Lost: func(lost *rlock.LostError) {
			// Waits until the lost hold's lease is over, so renewals have to go on meanwhile.
			_, unlock, err := rlock.New(client, lost.Name).Lock(context.Background())
			if err == nil {
				err = unlock()
			}
			again <- err
		}},
	})
	other := conductClient(t, server.Addr(), nil)
	stands, unlockKept := conductTake(t, conductCtx(t), rlock.New(client, kept))
	_, unlock := conductTake(t, conductCtx(t), rlock.New(client, key))
	require.NoError(t, rlock.New(other, key).Break(conductCtx(t)))
	_, unlockOther := conductTake(t, conductCtx(t), rlock.New(other, key))
	observerStands(t, server, kept, stands)
	require.NoError(t, unlockOther())
	require.NoError(t, conductAwait(t, again, "the observer has the lock"))
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	require.NoError(t, unlockKept())
}

// An observer that never returns does not keep Close for ever.
func TestCloseWithAnObserverThatHangs(t *testing.T) {
	t.Parallel()
	server, key := redistest.Shared(t), redistest.Key(t)
	done, told := make(chan struct{}), make(chan struct{}, 16)
	client := conductClient(t, server.Addr(), &rlock.ClientOptions{
		Lease: observerLease, ReleaseTimeout: 200 * time.Millisecond,
		Observer: &rlock.Observer{Lost: func(*rlock.LostError) { told <- struct{}{}; <-done }},
	})
	defer close(done)
	_, _ = conductTake(t, conductCtx(t), rlock.New(client, key, rlock.MaxHold(time.Millisecond)))
	conductAwait(t, told, "the observer hangs")
	closed := make(chan error, 1)
	go func() { closed <- client.Close() }()
	require.NoError(t, conductAwait(t, closed, "Close returns"), "the hold was over before")
}

// The log: losses and failing renewals. One line, with what one needs to look further.
func TestWhatIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		log, failures := &observerLog{}, atomic.Int64{}
		client := sim.client(t, rlock.ClientOptions{Logger: slog.New(log), Observer: &rlock.Observer{
			Renewed: func(r rlock.Renewal) {
				if r.Err != nil {
					failures.Add(1)
				}
			},
		}})
		hold := timeLock(t, t.Context(), rlock.New(client, "l"))
		time.Sleep(time.Minute) // it is renewed
		require.Zero(t, log.count(), "nothing happened that an operator should know of")
		sim.suffer(timeAlways(simredis.DropRequest))
		<-hold.ctx.Done()
		timeLost(t, hold.unlock(), rlock.LossExpired)
		time.Sleep(time.Minute)
		require.Positive(t, failures.Load(), "a failed renewal is told")
		require.Len(t, log.with(lossText), 1, "the loss is logged, once")
		require.Contains(t, log.with(lossText)[0]["error"].String(), `"l"`)
		outage := log.with(outageBegins)
		require.Len(t, outage, 1)
		require.Equal(t, "l", outage[0]["lock"].String())
		require.Equal(t, int64(1), outage[0]["holds"].Int64())
		require.NotEmpty(t, outage[0]["error"].String())
		sim.suffer(nil)
	})
}
