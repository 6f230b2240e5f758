package redlock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// passLab starts a run of turns over three nodes: callers of one client queue behind a hold of it, and the first of
// them acquires the lock when that hold ends.
type passLab struct {
	*lab
	client      *redlock.Client
	rival       *redlock.Client
	lock, other *rlock.Lock
}

// passLease is so long that nothing is renewed unless a test waits for it.
const passLease = 10 * patience

func newPassLab(t *testing.T, lease time.Duration) *passLab {
	t.Helper()
	l := &passLab{lab: newLab(t, 3)}
	o := options(lease)
	o.NodeTimeout = min(lease/6, 3*time.Second) // nobody is late here because the machine is busy
	o.Observer = l.events.observer()
	l.client = l.lab.client(l.proxied(), o)
	l.rival = l.lab.client(l.direct(), o)
	l.lock, l.other = redlock.New(l.client, "order"), redlock.New(l.rival, "order")
	once(t, l.other)
	l.soonOn("order") // a node that still had that hold would refuse the next one, and know no token
	held, unlock := take(t, l.lock)
	l.settled(held)
	require.NoError(t, unlock())
	l.soonOn("order")
	return l
}

// turn is what a queued caller got.
type turn struct {
	ctx    context.Context
	unlock func() error
	err    error
}

// stand queues a caller, with a handle of its own.
func (l *passLab) stand(opts ...rlock.Option) <-chan turn {
	l.t.Helper()
	got, before := make(chan turn, 1), l.client.Stats().Waiters
	ctx := within(l.t)
	go func() {
		held, unlock, err := redlock.New(l.client, "order", opts...).Lock(ctx)
		got <- turn{held, unlock, err}
	}()
	redistest.Eventually(l.t, patience, func() bool { return l.client.Stats().Waiters > before }, "it stands in the queue")
	return got
}

func (l *passLab) in(from <-chan turn) turn {
	l.t.Helper()
	got := redistest.Receive(l.t, patience, from, "it does not get in")
	require.NoError(l.t, got.err)
	return got
}

// begin returns the first turn and the callers queued behind it, each with the options of its handle.
func (l *passLab) begin(opts ...[]rlock.Option) (first turn, behind []<-chan turn) {
	l.t.Helper()
	held, unlock := take(l.t, l.lock)
	for _, o := range opts {
		behind = append(behind, l.stand(o...))
	}
	l.settled(held)
	require.NoError(l.t, unlock())
	return l.in(behind[0]), behind[1:]
}

// sent counts the requests that acquired or released.
func (l *passLab) sent() (n int) {
	for _, p := range l.proxies {
		n += p.Requests(acquires) + p.Requests(releases)
	}
	return n
}

// settled waits until nothing is sent for a hold any more, and the next acquisition has tokens to spare.
//
// Every node has the hold, and not the one before; and all of them have its newest token. Their clocks are past that by
// more than what a hold may spare: a client proposes a token that is ahead of them by what its requests took lately,
// and if the next ones take less, what it proposes then is just above the token before, and spares none.
func (l *passLab) settled(held context.Context) {
	l.t.Helper()
	const spare = 1024 // a hold has fewer
	hold := alive(l.t, l.lock, held)
	redistest.Eventually(l.t, patience, func() bool {
		newest := l.stored()
		for i, s := range l.servers {
			now, err := s.Client(l.t).Time(context.Background()).Result()
			require.NoError(l.t, err)
			if !l.has(i, hold.ID) || l.token(i, "order") < newest || now.UnixMicro() <= newest+spare {
				return false
			}
		}
		return newest >= hold.Fence
	}, "the hold does not settle")
}

// has reports that node i has a hold, by the id of one of its attempts.
func (l *passLab) has(i int, id string) bool {
	l.t.Helper()
	for field := range l.fields(i, "order") {
		if holdOf(field) == id {
			return true
		}
	}
	return false
}

// holdOf is the id of the hold that a field of a node is of. An attempt that is not the first has a number behind it.
func holdOf(field string) string {
	id, _, _ := strings.Cut(field, ".")
	return id
}

// stored is the newest token that a node has.
func (l *passLab) stored() (newest int64) {
	for i := range l.servers {
		newest = max(newest, l.token(i, "order"))
	}
	return newest
}

// R1, R8: the next waiter gets the lock without a request, with its own context and token, under the id under which
// the nodes granted it to the first. There is one pass, because only the first one of a run is allowed however slow the
// machine is.
func TestATurnCostsNoRequest(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, passLease)
	at, behind := l.begin(nil, nil)
	l.settled(at.ctx)
	before, granted := l.sent(), alive(t, l.lock, at.ctx)
	require.NoError(t, at.unlock())
	require.ErrorIs(t, context.Cause(at.ctx), rlock.ErrReleased)
	require.ErrorIs(t, at.unlock(), rlock.ErrNotHeld, "once")
	at = l.in(behind[0])
	held := alive(t, l.lock, at.ctx)
	require.Equal(t, granted.ID, held.ID)
	require.Equal(t, granted.Fence+1, held.Fence)
	require.False(t, held.ValidUntil.After(granted.ValidUntil.Add(time.Millisecond)), "no turn raises validity")
	require.Equal(t, before, l.sent())
	newest := l.stored()
	require.GreaterOrEqual(t, newest, alive(t, l.lock, at.ctx).Fence, "what is used is stored")
	require.NoError(t, at.unlock())
	l.soonOn("order")
	require.Equal(t, before+len(l.proxies), l.sent(), "one release at each node ends the run")
	require.Greater(t, once(t, l.other), newest, "what is left of the range is nobody's")
}

// forget has all nodes but the first forget the token before each request that comes after a hold: an attempt that
// fails may leave one that the next attempt finds. They vote after the first one. A vote before that, for a token that
// the clock of the first one is past by then, would leave the tokens in between to spare.
func (l *passLab) forget(before string) {
	ctx, first := within(l.t), l.servers[0].Client(l.t)
	for i, p := range l.proxies[1:] {
		direct := l.servers[i+1].Client(l.t)
		p.On(acquires, func(x *faultproxy.Exchange) {
			for pause := servers.NewBackoff(); ctx.Err() == nil; pause.Sleep() {
				voted, err := first.HKeys(ctx, "order").Result() // an error: the test is over
				if err != nil || len(voted) > 0 && holdOf(voted[0]) != before {
					break
				}
			}
			_ = direct.Del(ctx, tokenKey("order")).Err()
			faultproxy.Pass(x)
		}).Times(-1)
	}
}

// R3: a request that differs from the grant is sent to the nodes.
func TestWhatIsNotPassedOn(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	cut := func(l *passLab, nodes int) (rules []*faultproxy.Rule) {
		for _, p := range l.proxies[:nodes] {
			rules = append(rules, p.On(renews, faultproxy.CutBefore).Times(-1))
		}
		return rules
	}
	for name, test := range map[string]struct {
		first, second []rlock.Option
		ready         func(l *passLab, before string)
		work          func(l *passLab, first turn)
		passes        bool
	}{
		"the next one wants a lease that nobody renews": {second: []rlock.Option{rlock.FixedLease(lease)}},
		"the holder had one":                            {first: []rlock.Option{rlock.FixedLease(lease - time.Second)}},
		"the hold is limited":                           {first: []rlock.Option{rlock.MaxHold(time.Minute)}},
		"one node of a quorum has forgotten the token":  {ready: func(l *passLab, before string) { l.forget(before) }},
		"passed on: a level was inside": {passes: true, work: func(l *passLab, first turn) {
			_, unlock, err := l.lock.Lock(first.ctx)
			require.NoError(l.t, err)
			require.NoError(l.t, unlock())
		}},
		"a quorum's renewal failed": {work: func(l *passLab, _ turn) {
			cut(l, 2)
			require.Error(l.t, l.events.failure(l.t))
		}},
		"half of the lease is over": {work: func(l *passLab, first turn) {
			cut(l, 3)
			half := alive(l.t, l.lock, first.ctx).ValidUntil.Add(-lease / 2)
			<-time.After(time.Until(half)) // the fault itself
		}},
		"passed on: one node's renewal failed": {passes: true, work: func(l *passLab, _ turn) {
			cut(l, 1)
			l.renewedAgain("order", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPassLab(t, lease)
			held, unlock := take(t, l.lock)
			first, second := l.stand(test.first...), l.stand(test.second...)
			l.settled(held)
			if test.ready != nil {
				test.ready(l, alive(t, l.lock, held).ID)
			}
			require.NoError(t, unlock())
			at := l.in(first)
			if test.work != nil {
				test.work(l, at)
			}
			granted := alive(t, l.lock, at.ctx)
			require.NoError(t, at.unlock())
			next := l.in(second)
			passed := alive(t, l.lock, next.ctx)
			require.Equal(t, test.passes, passed.ID == granted.ID)
			require.Greater(t, passed.Fence, granted.Fence)
			require.NoError(t, next.unlock())
		})
	}
}

// R4: a run ends, and the process then leaves the name to others that heard of it.
func TestAfterARunTheNameIsLeftToOthers(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, passLease)
	for _, s := range l.servers {
		listener := s.Client(t).Subscribe(within(t), "redisson_lock__channel:{order}")
		t.Cleanup(func() { _ = listener.Close() })
		_, err := listener.Receive(within(t)) // the confirmation
		require.NoError(t, err)
	}
	// Ten times: where nobody is waited for, one of them is sooner, even on a machine that is busy.
	for range 10 {
		first, behind := l.begin(nil, nil, nil)
		granted := alive(t, l.lock, first.ctx)
		require.NoError(t, first.unlock())
		second := l.in(behind[0])
		require.Equal(t, granted.ID, alive(t, l.lock, second.ctx).ID)
		<-time.After(60 * time.Millisecond) // longer than any run
		ended := time.Now()
		require.NoError(t, second.unlock())
		third := l.in(behind[1])
		require.GreaterOrEqual(t, time.Since(ended), 5*time.Millisecond)
		require.NotEqual(t, granted.ID, alive(t, l.lock, third.ctx).ID)
		require.NoError(t, third.unlock())
	}
}

// R4: a process that has many callers at the name keeps no other one out.
func TestAnotherProcessGetsIn(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, passLease)
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	quiet := options(passLease)
	busy := redlock.New(l.lab.client(l.direct(), quiet), "order")
	var newest atomic.Int64
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			for ctx.Err() == nil {
				err := busy.Do(ctx, func(held context.Context) error {
					hold, err := busy.Held(held)
					if err == nil && newest.Swap(hold.Fence) >= hold.Fence {
						t.Errorf("token %d is not above the one before", hold.Fence)
					}
					return err
				})
				if err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	for range 10 {
		held, unlock := take(t, l.other)
		fence := alive(t, l.other, held).Fence
		require.Greater(t, fence, newest.Swap(fence))
		require.NoError(t, unlock())
	}
	stop()
	require.NoError(t, all.Wait())
}

// R2, R8: tokens of turns stay below those of the next holder, even if in the middle of the run a node freezes, or is
// restarted without its data and then is needed for the next quorum.
func TestTokensOfTurnsGrowThroughFailures(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(l *passLab) (mend func()){
		"a node is frozen": func(l *passLab) func() {
			l.servers[0].Stop()
			return l.servers[0].Continue
		},
		"a node is restarted empty": func(l *passLab) func() {
			l.servers[0].Kill()
			l.servers[0].Restart()
			l.servers[1].Stop()
			return l.servers[1].Continue
		},
		"only a quorum has the token": func(l *passLab) func() {
			require.NoError(l.t, l.servers[0].Client(l.t).Del(l.t.Context(), tokenKey("order")).Err())
			l.servers[1].Stop()
			return l.servers[1].Continue
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPassLab(t, passLease)
			at, behind := l.begin(nil, nil)
			l.settled(at.ctx)
			granted := alive(t, l.lock, at.ctx)
			mend := fail(l)
			for _, next := range behind {
				require.NoError(t, at.unlock())
				at = l.in(next)
				require.Equal(t, granted.ID, alive(t, l.lock, at.ctx).ID, "it costs no request, no matter which node is away")
			}
			last := alive(t, l.lock, at.ctx).Fence
			_ = at.unlock() // it may not reach a quorum that had the hold
			require.Greater(t, once(t, l.other), last)
			mend()
			require.Greater(t, once(t, l.lock), last)
		})
	}
}

// R8, R10: the request that began a run reaches a node when the run is over: it takes nothing for long, and no later
// token is below those of the run.
func TestARequestThatComesWhenItsRunIsOverTakesNothing(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, passLease)
	held, unlock := take(t, l.lock)
	behind := []<-chan turn{l.stand(), l.stand(), l.stand()}
	l.settled(held)
	late := faultproxy.NewGate()
	asked := l.proxies[2].On(acquires, faultproxy.HoldRequest(late))
	require.NoError(t, unlock())
	var last int64
	for _, next := range behind {
		at := l.in(next)
		asked.Wait(t, 1) // what was not sent by the end of a run is not sent at all
		fence := alive(t, l.lock, at.ctx).Fence
		require.Greater(t, fence, last)
		last = fence
		require.NoError(t, at.unlock())
	}
	late.Open()
	<-late.Delivered()
	redistest.Eventually(t, patience, func() bool { return len(l.on("order", 0, 1, 2)) == 0 }, "nothing is left")
	require.Greater(t, once(t, l.other), last)
}

// R5: the grant is lost during any turn: its holder learns of it, and the waiters behind it ask the nodes.
func TestAGrantThatIsGoneIsToldToWhoHasTheTurn(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, 1500*time.Millisecond)
	first, behind := l.begin(nil, nil, nil)
	require.NoError(t, first.unlock())
	second := l.in(behind[0])
	fence := alive(t, l.lock, second.ctx).Fence
	require.NoError(t, l.other.Break(within(t)))
	require.ErrorIs(t, ended(t, second.ctx), rlock.ErrLost)
	require.ErrorIs(t, second.unlock(), rlock.ErrLost)
	third := l.in(behind[1])
	require.Greater(t, alive(t, l.lock, third.ctx).Fence, fence)
	require.NoError(t, third.unlock())
}
