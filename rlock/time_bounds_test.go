package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

const (
	timeRelease = 5 * time.Second // the default ReleaseTimeout
	timeCommand = 3 * time.Second // the limit of one command under the default lease
)

// timeScene is what calls are made in: a lock that is held, with its context, and one that was exported.
type timeScene struct {
	client *rlock.Client
	hold   timeHold
	token  string
}

func newTimeScene(t *testing.T, sim *timeSim) *timeScene {
	t.Helper()
	s := &timeScene{client: sim.client(t, rlock.ClientOptions{})}
	s.hold = timeLock(t, context.Background(), s.lock("held"))
	moved := s.lock("moved")
	from := timeLock(t, context.Background(), moved)
	token, err := moved.Export(from.ctx)
	require.NoError(t, err)
	s.token = token
	return s
}

func (s *timeScene) lock(name string, opts ...rlock.Option) *rlock.Lock {
	return rlock.New(s.client, name, opts...)
}

// timeCalls are the calls that send something, and how long each may take where no context bounds it. A TryLock takes
// no longer than one command (defect F19).
var timeCalls = map[string]struct {
	bound time.Duration
	call  func(s *timeScene, ctx context.Context) error
}{
	"Lock": {30*time.Second + 2*timeCommand, func(s *timeScene, ctx context.Context) error {
		_, _, err := s.lock("free").Lock(ctx)
		return err
	}},
	"Lock with MaxWait": {4 * time.Second, func(s *timeScene, ctx context.Context) error {
		_, _, err := s.lock("free", rlock.MaxWait(4*time.Second)).Lock(ctx)
		return err
	}},
	"TryLock": {timeCommand, func(s *timeScene, ctx context.Context) error {
		_, _, err := s.lock("free").TryLock(ctx)
		return err
	}},
	"Do": {30*time.Second + 2*timeCommand, func(s *timeScene, ctx context.Context) error {
		return s.lock("free").Do(ctx, func(context.Context) error { return nil })
	}},
	"Import": {timeRelease + timeCommand, func(s *timeScene, ctx context.Context) error {
		_, _, err := s.lock("moved").Import(ctx, s.token)
		return err
	}},
	"Inspect": {timeCommand, func(s *timeScene, ctx context.Context) error {
		_, err := s.lock("held").Inspect(ctx)
		return err
	}},
	"Break": {timeCommand, func(s *timeScene, ctx context.Context) error {
		return s.lock("held").Break(ctx)
	}},
	"unlock": {timeRelease + timeCommand, func(s *timeScene, _ context.Context) error {
		return s.hold.unlock()
	}},
	"Export": {timeRelease + timeCommand, func(s *timeScene, _ context.Context) error {
		_, err := s.lock("held").Export(s.hold.ctx)
		return err
	}},
}

// G4, G5, bug 29, defect F19: with Redis silent no call blocks for ever. With a deadline it is over by then, and at
// once where it is one that a context can end; without, after a few commands' limits, a lease at most.
func TestEveryCallIsBoundedWhenRedisIsSilent(t *testing.T) {
	t.Parallel()
	const deadline = 2 * time.Second // before a command's limit
	for name, c := range timeCalls {
		for silence, verdict := range timeSilences {
			for _, bounded := range []bool{true, false} {
				sub := name + ", " + silence
				if bounded {
					sub += ", with a deadline"
				}
				t.Run(sub, func(t *testing.T) {
					t.Parallel()
					inBubble(t, func(t *testing.T, sim *timeSim) {
						s := newTimeScene(t, sim)
						sim.suffer(timeAlways(verdict))
						ctx, bound := context.Background(), c.bound
						if bounded {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, deadline)
							defer cancel()
							if name != "unlock" && name != "Export" { // these take none, or heed none
								bound = deadline
							}
						}
						start := time.Now()
						require.Error(t, c.call(s, ctx))
						// No two exchanges have the same deadline: one may be some nanoseconds late for that.
						require.LessOrEqual(t, time.Since(start), bound+time.Microsecond)
						sim.suffer(nil)
						_ = s.hold.unlock()
						time.Sleep(3 * time.Minute)
						require.False(t, sim.holds("free"), "nothing is left of it")
						require.False(t, sim.holds("held"))
					})
				})
			}
		}
	}
}

// G6, bug 54: how long the lock is to be held says nothing on how long it may be waited for.
func TestAShortLeaseDoesNotShortenTheWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		a, b := sim.client(t, rlock.ClientOptions{}), sim.client(t, rlock.ClientOptions{})
		const lease, wait = time.Second, time.Hour
		hold := timeLock(t, t.Context(), rlock.New(a, "order"))
		first := inspectNext(t, rlock.New(b, "order", rlock.FixedLease(lease)))
		time.Sleep(time.Second) // the first of them waits on Redis, the second one behind it
		second := inspectNext(t, rlock.New(b, "order", rlock.FixedLease(lease)))
		time.Sleep(wait)
		require.Empty(t, first)
		require.NoError(t, hold.unlock())
		for _, next := range []<-chan timeHold{first, second} {
			h := <-next
			require.NoError(t, h.ctx.Err())
			require.NoError(t, h.unlock())
		}
	})
}
