package memstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// far is how long a message and a request of these tests are under way.
const far = 10 * time.Millisecond

// distant is a network on which everything takes far, and which loses messages of breaks if it is deaf. The answers to
// as many renewals as it is told take longer, or are lost then.
type distant struct {
	deaf        atomic.Bool
	slow, muted atomic.Int64 // renewals
}

// slowly is how long an answer takes that takes longer.
const slowly = time.Second

func (d *distant) Fate(r memstore.Request) memstore.Fate {
	fate := memstore.Fate{Before: far, After: far, Lost: d.deaf.Load() && r.Kind == memstore.Tell}
	if r.Kind == memstore.Renew && d.slow.Add(-1) >= 0 {
		fate.After = slowly
	}
	if r.Kind == memstore.Renew && d.muted.Add(-1) >= 0 {
		fate.After, fate.Mute = slowly, true
	}
	return fate
}

// breakable is a kind of lock: how a client takes it, and how another one breaks it.
type breakable struct {
	name   string
	take   func(c *rlock.Client, ctx context.Context) (context.Context, func() error, error)
	breaks func(c *rlock.Client, ctx context.Context) error
}

func breakables() []breakable {
	const permits = "permits"
	of := func(name string, lock func(c *rlock.Client) *rlock.Lock) breakable {
		return breakable{name,
			func(c *rlock.Client, ctx context.Context) (context.Context, func() error, error) {
				return lock(c).Lock(ctx)
			},
			func(c *rlock.Client, ctx context.Context) error { return lock(c).Break(ctx) },
		}
	}
	set := func(c *rlock.Client) *multilock.Lock {
		return multilock.New([]*rlock.Lock{rlock.New(c, "x"), rlock.New(c, "y")})
	}
	return []breakable{
		of("plain", func(c *rlock.Client) *rlock.Lock { return rlock.New(c, "plain") }),
		of("fixed lease", func(c *rlock.Client) *rlock.Lock { return rlock.New(c, "fixed", rlock.FixedLease(minute)) }),
		of("fair", func(c *rlock.Client) *rlock.Lock { return fairlock.New(c, "fair") }),
		of("write", func(c *rlock.Client) *rlock.Lock { return rwlock.New(c, "write").Write() }),
		of("read", func(c *rlock.Client) *rlock.Lock { return rwlock.New(c, "read").Read() }),
		of("kept", func(c *rlock.Client) *rlock.Lock { return rlock.New(c, "kept", rlock.Keep(time.Second)) }),
		{"permits",
			func(c *rlock.Client, ctx context.Context) (context.Context, func() error, error) {
				s := semaphore.New(c, permits)
				if _, err := s.SetCapacityIfAbsent(ctx, 3); err != nil {
					return ctx, nil, err
				}
				return s.Acquire(ctx, 2)
			},
			func(c *rlock.Client, ctx context.Context) error {
				s := semaphore.New(c, permits)
				seen, err := s.Inspect(ctx)
				if err != nil {
					return err
				}
				return s.Break(ctx, seen.Holders[0].ID)
			},
		},
		{"set",
			func(c *rlock.Client, ctx context.Context) (context.Context, func() error, error) {
				return set(c).Lock(ctx)
			},
			func(c *rlock.Client, ctx context.Context) error { return set(c).Break(ctx) },
		},
	}
}

// A holder that has held for a while hears of the break at once, and what it hears makes it ask; the lease is a minute,
// so the next renewal would be 20 s away, and of a fixed lease there is none (defect G60).
func TestABreakIsHeardAtOnce(t *testing.T) { breaksAreHeard(t, 2*time.Second, 10*far) }

// A client does not listen from the first moment. What was broken before it does, it asks for when it begins.
func TestAnEarlyBreakIsHeardWhenTheHolderBeginsToListen(t *testing.T) {
	breaksAreHeard(t, 0, 2*time.Second)
}

// breaksAreHeard asserts, for each kind, that a hold which is broken after it was held for a time is lost within a limit.
func breaksAreHeard(t *testing.T, held, limit time.Duration) {
	t.Parallel()
	for _, kind := range breakables() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := memstore.NewServer(new(distant))
				defer server.Close()
				holder, _ := open(t, server, 0, true, minute)
				operator, _ := open(t, server, 1, true, minute)
				ctx, unlock, err := kind.take(holder, t.Context())
				require.NoError(t, err)
				time.Sleep(held)
				require.NoError(t, ctx.Err())
				require.NoError(t, kind.breaks(operator, t.Context()))
				broken := time.Now()
				<-ctx.Done()
				require.LessOrEqual(t, time.Since(broken), limit)
				require.ErrorIs(t, context.Cause(ctx), rlock.ErrLost)
				require.ErrorIs(t, unlock(), rlock.ErrLost)
				require.NoError(t, holder.Close())
				require.NoError(t, operator.Close())
			})
		})
	}
}

// The message is a hint: if it is lost, the next renewal says it; and if it is wrong, the hold goes on (defect G60).
func TestARenewalIsTheProofOfABreak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := new(distant)
		server := memstore.NewServer(network)
		defer server.Close()
		holder, _ := open(t, server, 0, true, minute)
		operator, told := open(t, server, 1, true, minute)
		held, unlock, err := rlock.New(holder, "a").Lock(t.Context())
		require.NoError(t, err)
		hold, err := rlock.New(holder, "a").Held(held)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		told.TellBroken(t.Context(), "a", hold.ID)
		time.Sleep(5 * time.Second)
		require.NoError(t, held.Err())
		network.deaf.Store(true)
		require.NoError(t, rlock.New(operator, "a").Break(t.Context()))
		broken := time.Now()
		<-held.Done()
		require.LessOrEqual(t, time.Since(broken), minute/3)
		require.ErrorIs(t, unlock(), rlock.ErrLost)
		require.NoError(t, holder.Close())
		require.NoError(t, operator.Close())
	})
}

// A hint that comes while the store is being asked because of another one is followed by a question of its own: the break
// may have come after the answer to the first. An answer that is lost is asked for again (defect G60).
func TestABreakDuringTheQuestionOfAnotherHint(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]rlock.Option{
		"renewed": rlock.Lease(minute), "fixed lease": rlock.FixedLease(minute),
	} {
		for what, answers := range map[string]func(d *distant){
			"the answer is late": func(d *distant) { d.slow.Store(1) },
			"the answer is lost": func(d *distant) { d.muted.Store(1) },
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					network := new(distant)
					server := memstore.NewServer(network)
					defer server.Close()
					holder, _ := open(t, server, 0, true, minute)
					operator, told := open(t, server, 1, true, minute)
					l := rlock.New(holder, "a", opt)
					held, unlock, err := l.Lock(t.Context())
					require.NoError(t, err)
					hold, err := l.Held(held)
					require.NoError(t, err)
					time.Sleep(2 * time.Second)
					answers(network)
					told.TellBroken(t.Context(), "a", hold.ID) // which is not so
					time.Sleep(5 * far)
					require.NoError(t, held.Err())
					require.NoError(t, rlock.New(operator, "a").Break(t.Context()))
					broken := time.Now()
					<-held.Done()
					require.LessOrEqual(t, time.Since(broken), 3*slowly)
					require.ErrorIs(t, unlock(), rlock.ErrLost)
					require.NoError(t, holder.Close())
					require.NoError(t, operator.Close())
				})
			})
		}
	}
}
