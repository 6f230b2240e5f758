package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// passLab starts a run of turns: callers of one client queue while a rival holds, and the first of them acquires the
// lock when the rival releases it.
type passLab struct {
	*testing.T
	proxy       *faultproxy.Proxy
	rdb         *redis.Client
	line        conductLine
	lock, rival *rlock.Lock
}

func newPassLab(t *testing.T) *passLab {
	t.Helper()
	return newPassLabOf(t, passLease)
}

func newPassLabOf(t *testing.T, lease time.Duration) *passLab {
	t.Helper()
	server := redistest.Start(t)
	l := &passLab{T: t, proxy: faultproxy.Start(t, server.Addr()), rdb: server.Client(t)}
	l.line = conductLineOn(t, l.proxy.Addr(), &rlock.ClientOptions{Lease: lease})
	l.lock = rlock.New(l.line.Client, "order")
	l.rival = rlock.New(conductClient(t, server.Addr(), nil), "order")
	conductWarm(t, l.line, l.lock)
	return l
}

// passLease leaves a command a third of it, which a machine that runs every suite at once may need.
const passLease = 6 * time.Second

// begin returns the first turn and the callers queued behind it, each with the options of its handle.
func (l *passLab) begin(opts ...[]rlock.Option) (conductGrant, []<-chan conductGrant) {
	l.Helper()
	_, unlock := conductTake(l, conductCtx(l), l.rival)
	var waiting []<-chan conductGrant
	for _, o := range opts {
		waiting = append(waiting, l.line.join(l, conductCtx(l), rlock.New(l.line.Client, "order", o...)))
	}
	require.NoError(l, unlock())
	return l.line.in(l, waiting[0]), waiting[1:]
}

func (l *passLab) held(g conductGrant) rlock.Hold {
	l.Helper()
	held, err := l.lock.Held(g.ctx)
	require.NoError(l, err)
	return held
}

// sent counts the requests that acquired or released.
func (l *passLab) sent() int {
	c := conductCount(l.proxy)
	return c.acquire + c.release
}

func (l *passLab) free() {
	l.Helper()
	redistest.Eventually(l, patienceOfPass, func() bool { return l.rdb.Exists(context.Background(), "order").Val() == 0 },
		"the lock is free")
}

const patienceOfPass = 20 * time.Second

// R1: the next waiter gets the lock without a request, with its own context and token, under the id under which Redis
// granted it to the first. The first pass of a run is always allowed, however slow the machine is.
func TestATurnCostsNoRequest(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	at, waiting := l.begin(nil, nil)
	before, granted := l.sent(), l.held(at)
	for i, next := range waiting {
		require.NoError(t, at.unlock())
		require.ErrorIs(t, context.Cause(at.ctx), rlock.ErrReleased)
		require.ErrorIs(t, at.unlock(), rlock.ErrNotHeld, "once")
		at = l.line.in(t, next)
		held := l.held(at)
		require.Equal(t, granted.ID, held.ID)
		require.Equal(t, granted.Fence+int64(i)+1, held.Fence)
		require.Equal(t, 1, held.Count)
	}
	require.Equal(t, before, l.sent())
	newest, err := l.rdb.Get(t.Context(), fenceKey("order")).Int64()
	require.NoError(t, err)
	last := l.held(at).Fence
	require.Less(t, last, newest)
	require.NoError(t, at.unlock())
	require.Equal(t, before+1, l.sent(), "one release ends the run")
	_, unlock := conductTake(t, conductCtx(t), l.rival)
	require.NoError(t, unlock())
	after, err := l.rdb.Get(t.Context(), fenceKey("order")).Int64()
	require.NoError(t, err)
	require.Greater(t, after, newest, "what is left of the range is nobody's")
}

// R3: a request that differs from the grant is sent to Redis.
func TestWhatIsNotPassedOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first, second []rlock.Option
		work          func(l *passLab, first conductGrant)
	}{
		"the next one wants a lease that nobody renews": {second: []rlock.Option{rlock.FixedLease(passLease)}},
		"the holder had one":                            {first: []rlock.Option{rlock.FixedLease(time.Minute)}},
		"the hold is limited":                           {first: []rlock.Option{rlock.MaxHold(time.Minute)}},
		"its count is on its way": {work: func(l *passLab, first conductGrant) {
			rule := l.proxy.On(conductScript("levels"), faultproxy.DropReply)
			_, unlock := conductTake(l, first.ctx, l.lock)
			rule.Wait(l, 1)
			require.NoError(l, unlock())
		}},
		"its renewal failed": {work: func(l *passLab, _ conductGrant) {
			rule := l.proxy.On(conductScript("renew"), faultproxy.CutBefore).Times(-1)
			rule.Wait(l, 2) // the second one comes because the first failed
		}},
		"half of the lease is over": {work: func(l *passLab, first conductGrant) {
			rule := l.proxy.On(conductScript("renew"), faultproxy.CutBefore).Times(-1)
			half := l.held(first).ValidUntil.Add(-passLease / 2)
			time.Sleep(time.Until(half)) // the fault itself
			rule.Wait(l, 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPassLab(t)
			first, waiting := l.begin(test.first, test.second)
			if test.work != nil {
				test.work(l, first)
			}
			before, granted := l.sent(), l.held(first)
			require.NoError(t, first.unlock())
			next := l.line.in(t, waiting[0])
			held := l.held(next)
			require.NotEqual(t, granted.ID, held.ID)
			require.Greater(t, held.Fence, granted.Fence)
			require.Greater(t, l.sent(), before)
			require.NoError(t, next.unlock())
			l.free()
		})
	}
}

// R5: the turn that holds the lock learns that the grant is gone, by a renewal or by the release that ends the run.
// Earlier turns did not: their unlock only passed the lock on.
func TestAGrantThatIsGoneIsToldToWhoHasTheTurn(t *testing.T) {
	t.Parallel()
	t.Run("at the end of the run", func(t *testing.T) {
		t.Parallel()
		l := newPassLab(t)
		first, waiting := l.begin(nil, nil)
		require.NoError(t, l.rdb.Del(t.Context(), "order").Err())
		require.NoError(t, first.unlock())
		second := l.line.in(t, waiting[0])
		fence := l.held(second).Fence
		require.ErrorIs(t, second.unlock(), rlock.ErrLost)
		require.Greater(t, fenceOnce(t, l.rival), fence)
	})
	t.Run("by a renewal", func(t *testing.T) {
		t.Parallel()
		l := newPassLab(t)
		first, waiting := l.begin(nil, nil, nil)
		require.NoError(t, l.rdb.Del(t.Context(), "order").Err())
		require.NoError(t, first.unlock())
		second := l.line.in(t, waiting[0])
		fence := l.held(second).Fence
		l.lost(second)
		third := l.line.in(t, waiting[1])
		require.Greater(t, l.held(third).Fence, fence, "it asked Redis")
		require.NoError(t, third.unlock())
		l.free()
	})
}

// lost waits until a turn is.
func (l *passLab) lost(at conductGrant) {
	l.Helper()
	redistest.Receive(l, patienceOfPass, at.ctx.Done(), "nobody tells")
	require.ErrorIs(l, context.Cause(at.ctx), rlock.ErrLost)
	require.ErrorIs(l, at.unlock(), rlock.ErrLost)
}

// R5: Break takes the grant, whichever turn holds it.
func TestBreakTakesTheGrantFromWhoeverHasTheTurn(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"by its own client": true, "by another one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPassLab(t)
			first, waiting := l.begin(nil, nil)
			require.NoError(t, first.unlock())
			second := l.line.in(t, waiting[0])
			fence := l.held(second).Fence
			if own {
				third := l.line.join(t, conductCtx(t), l.lock)
				require.NoError(t, l.lock.Break(t.Context()))
				l.lost(second)
				next := l.line.in(t, third)
				require.Greater(t, l.held(next).Fence, fence)
				require.NoError(t, next.unlock())
			} else {
				require.NoError(t, l.rival.Break(t.Context()))
				require.ErrorIs(t, second.unlock(), rlock.ErrLost, "nobody is left to whom it could be passed")
			}
			require.Greater(t, fenceOnce(t, l.rival), fence)
			l.free()
		})
	}
}

// alarm publishes that the lock was released, as who broke it would, until the client asks Redis whether it still
// holds. It reports false if the client did not, since by then it does not listen any more.
func (l *passLab) alarm() bool {
	before := l.proxy.Requests(conductScript("renew"))
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		require.NoError(l, l.rdb.Publish(l.Context(), "redisson_lock__channel:{order}", "0").Err())
		if l.proxy.Requests(conductScript("renew")) > before {
			return true
		}
	}
	return false
}

// R5: a holder that hears that somebody released the lock has its hold renewed at once, and does not pass it on
// before Redis was asked. The lease is so long that nothing else asks.
func TestWhoHearsARelease(t *testing.T) {
	t.Parallel()
	setUp := func(t *testing.T, gone bool) (l *passLab, first conductGrant, waiting []<-chan conductGrant) {
		for range 3 {
			l = newPassLabOf(t, time.Hour)
			if first, waiting = l.begin(nil, nil, nil); !gone {
				require.NoError(t, first.unlock())
				first, waiting = l.line.in(t, waiting[0]), waiting[1:]
			} else {
				require.NoError(t, l.rdb.Del(t.Context(), "order").Err())
			}
			if l.alarm() {
				return l, first, waiting
			}
		}
		t.Fatal("it does not ask")
		return nil, conductGrant{}, nil
	}
	t.Run("and does not hold any more", func(t *testing.T) {
		t.Parallel()
		l, first, waiting := setUp(t, true)
		l.lost(first)
		next := l.line.in(t, waiting[0])
		require.NoError(t, next.unlock())
		require.NoError(t, l.line.in(t, waiting[1]).unlock())
		l.free()
	})
	t.Run("and still holds", func(t *testing.T) {
		t.Parallel()
		for range 5 { // on a busy machine a run may be over before it can be passed on
			l, second, waiting := setUp(t, false)
			require.NoError(t, second.ctx.Err())
			granted, before := l.held(second), conductCount(l.proxy).release
			require.NoError(t, second.unlock())
			require.Equal(t, before+1, conductCount(l.proxy).release)
			third := l.line.in(t, waiting[0])
			require.NotEqual(t, granted.ID, l.held(third).ID)
			require.Greater(t, l.held(third).Fence, granted.Fence)
			require.NoError(t, third.unlock())
			l.free()
		}
	})
}

// R11: an export takes the grant along, and the waiters behind wait for its importer.
func TestAnExportEndsTheRun(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	first, waiting := l.begin(nil, nil, nil)
	require.NoError(t, first.unlock())
	second := l.line.in(t, waiting[0])
	fence := l.held(second).Fence
	passport, err := l.lock.Export(second.ctx)
	require.NoError(t, err)
	require.ErrorIs(t, second.unlock(), rlock.ErrNotHeld)
	held, unlock, err := l.rival.Import(t.Context(), passport)
	require.NoError(t, err)
	imported, err := l.rival.Held(held)
	require.NoError(t, err)
	require.Equal(t, fence, imported.Fence)
	require.Empty(t, waiting[1])
	require.NoError(t, unlock())
	third := l.line.in(t, waiting[1])
	require.Greater(t, l.held(third).Fence, fence)
	require.NoError(t, third.unlock())
}

// A run that its client's Close finds is over: the turn is released, and nobody gets the next.
func TestCloseEndsARun(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	first, waiting := l.begin(nil, nil, nil)
	require.NoError(t, first.unlock())
	second := l.line.in(t, waiting[0])
	require.Error(t, l.line.Close(), "a lock is held")
	require.ErrorIs(t, context.Cause(second.ctx), rlock.ErrClosed)
	require.ErrorIs(t, conductAwait(t, waiting[1], "it is sent away").err, rlock.ErrClosed)
	l.free()
}

// One that leaves as the lock is passed to it passes it on: a wait that is cancelled loses no turn.
func TestAWaiterThatLeavesPassesItsTurnOn(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	for range 50 {
		_, unlock := conductTake(t, conductCtx(t), l.rival)
		ctx, leave := context.WithCancel(conductCtx(t))
		first := l.line.join(t, conductCtx(t), l.lock)
		second, third := l.line.join(t, ctx, l.lock), l.line.join(t, conductCtx(t), l.lock)
		require.NoError(t, unlock())
		at := l.line.in(t, first)
		go leave()
		require.NoError(t, at.unlock())
		if got := conductAwait(t, second, "it got in, or left"); got.err == nil {
			require.NoError(t, got.unlock())
		}
		require.NoError(t, l.line.in(t, third).unlock())
	}
	l.free()
}
