package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// twoNodes are a set with a name on each of two servers, of which the second can go away.
type twoNodes struct {
	set    *multilock.Lock
	names  []string // the first one is on the node that stays
	here   *rlock.Client
	there  *rlock.Client // a client that reaches the second node all the time
	second *faultproxy.Proxy
	server *redistest.Server // the second
	sent   redistest.Meter   // by the set's client to the second node
}

func onTwoNodes(t *testing.T, opts ...rlock.Option) *twoNodes {
	t.Helper()
	x := &twoNodes{names: names(t, 2), server: redistest.Start(t)}
	x.here = clientAt(t, redistest.Shared(t).Addr(), nil)
	x.there = clientAt(t, x.server.Addr(), nil)
	x.second = faultproxy.Start(t, x.server.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: x.second.Addr(), Dialer: x.sent.Dial})
	t.Cleanup(func() { _ = rdb.Close() })
	far := client(t, rdb, &rlock.ClientOptions{ReleaseTimeout: time.Second}) // Close does not wait longer for the node
	all := []*rlock.Lock{rlock.New(x.here, x.names[0]), rlock.New(far, x.names[1])}
	require.NoError(t, multilock.New(all).Do(within(t), func(context.Context) error { return nil }))
	x.set = multilock.New(all, opts...)
	return x
}

// leave has the second node go away.
func (x *twoNodes) leave() {
	x.second.Refuse(true)
	x.second.CutAll()
}

// free reports that nobody holds a name of either node.
func (x *twoNodes) free(t *testing.T) {
	t.Helper()
	free(t, x.here, x.names[0])
	free(t, x.there, x.names[1])
}

// defect F16: a later group whose node is away counts as busy. The call waits for that node and gets in when it is back,
// as rlock.Lock does; and while it waits it holds nothing of the node that is there.
func TestALaterNodeThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	x := onTwoNodes(t)
	x.leave()
	got := lockBeside(within(t), x.set)
	for range 3 {
		before := x.sent.Dials()
		redistest.Eventually(t, patience, func() bool { return x.sent.Dials() > before+1 || len(got) > 0 },
			"the second node is not asked again")
		require.Empty(t, got, "the call has returned")
		free(t, x.here, x.names[0])
	}
	x.second.Refuse(false)
	o := <-got
	require.NoError(t, o.err)
	holds, err := x.set.Held(o.held)
	require.NoError(t, err)
	require.Len(t, holds, 2)
	for i, c := range []*rlock.Client{x.here, x.there} {
		_, _, err = rlock.New(c, x.names[i]).TryLock(within(t))
		require.ErrorIs(t, err, rlock.ErrBusy)
	}
	require.NoError(t, o.unlock())
	x.free(t)
}

// defect F16: the same where the node hangs: requests are sent to it, and nothing comes back for longer than an attempt
// lasts.
func TestALaterNodeThatHangsIsWaitedFor(t *testing.T) {
	t.Parallel()
	x := onTwoNodes(t, rlock.FixedLease(time.Second))
	x.second.Blackhole(true)
	before := x.sent.Dials()
	got := lockBeside(within(t), x.set)
	redistest.Eventually(t, patience, func() bool { return x.sent.Dials() > before+3 || len(got) > 0 },
		"the second node is not asked again") // three are those of one attempt
	require.Empty(t, got, "the call has returned")
	free(t, x.here, x.names[0])
	x.second.Blackhole(false)
	o := <-got
	require.NoError(t, o.err)
	require.NoError(t, o.unlock())
	x.free(t)
}

// A member can be lost while another node is asked for the next one. The error names the one that was lost.
func TestALossBeforeAllAreHeldNamesTheLockThatWasLost(t *testing.T) {
	t.Parallel()
	x := onTwoNodes(t)
	gate := faultproxy.NewGate()
	asked := x.second.On(faultproxy.Script(luacall.SHA("acquire")), faultproxy.HoldRequest(gate))
	got := make(chan error, 1)
	go func() {
		_, _, err := x.set.TryLock(within(t))
		got <- err
	}()
	asked.Wait(t, 1)
	require.NoError(t, rlock.New(x.here, x.names[0]).Break(within(t)))
	err := <-got
	gate.Open()
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NotErrorIs(t, err, rlock.ErrLost, "nothing was held")
	require.ErrorContains(t, err, x.names[0])
	require.NotContains(t, err.Error(), x.names[1])
	redistest.Eventually(t, patience, func() bool {
		_, unlock, err := rlock.New(x.there, x.names[1]).TryLock(within(t))
		return err == nil && unlock() == nil
	}, "the second lock is not given back")
}

// What ends the wait for a node that is away, and what it says then. Nothing is left on the other one.
func TestTheWaitForALaterNodeEnds(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	for name, wait := range map[string]struct {
		opts []rlock.Option
		call func(t *testing.T, x *twoNodes) error
		is   []error
		not  []error
	}{
		"one attempt": {
			call: func(t *testing.T, x *twoNodes) error {
				_, _, err := x.set.TryLock(within(t))
				return err
			},
			not: []error{context.DeadlineExceeded},
		},
		"MaxWait": {
			opts: []rlock.Option{rlock.MaxWait(limit)},
			call: func(_ *testing.T, x *twoNodes) error {
				began := time.Now()
				_, _, err := x.set.Lock(context.Background())
				if took := time.Since(began); took < limit {
					return errors.New("it did not wait")
				}
				return err
			},
			not: []error{context.DeadlineExceeded},
		},
		"the context's deadline": {
			call: func(t *testing.T, x *twoNodes) error {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				_, _, err := x.set.Lock(ctx)
				return err
			},
			is: []error{context.DeadlineExceeded},
		},
		"cancelled": {
			call: func(t *testing.T, x *twoNodes) error {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := lockBeside(ctx, x.set)
				before := x.sent.Dials()
				redistest.Eventually(t, patience, func() bool { return x.sent.Dials() > before+2 || len(got) > 0 },
					"the second node is not asked again")
				cancel()
				return (<-got).err
			},
			is: []error{context.Canceled},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := onTwoNodes(t, wait.opts...)
			x.leave()
			err := wait.call(t, x)
			require.ErrorIs(t, err, rlock.ErrUnavailable)
			require.NotErrorIs(t, err, rlock.ErrBusy)
			for _, other := range wait.is {
				require.ErrorIs(t, err, other)
			}
			for _, other := range wait.not {
				require.NotErrorIs(t, err, other)
			}
			x.free(t)
		})
	}
}

// The control: a later node that refuses for good is not waited for.
func TestALaterNodeThatRefusesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]struct {
		begin func(t *testing.T, x *twoNodes)
		is    error
	}{
		"a key of another type": {func(t *testing.T, x *twoNodes) {
			require.NoError(t, x.server.Client(t).Set(within(t), x.names[1], "mine", 0).Err())
		}, rlock.ErrKeyConflict},
		"no permission": {func(_ *testing.T, x *twoNodes) {
			x.second.On(faultproxy.Script(luacall.SHA("acquire")),
				faultproxy.AnswerError("NOPERM this user has no permissions to run the 'evalsha' command")).Times(-1)
		}, rlock.ErrUnavailable},
		"a script that Redis does not have": {func(_ *testing.T, x *twoNodes) {
			x.second.On(faultproxy.Script(luacall.SHA("acquire")),
				faultproxy.AnswerError("ERR unknown command 'EVALSHA'")).Times(-1)
		}, rlock.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := onTwoNodes(t)
			refusal.begin(t, x)
			asked := x.second.Requests(faultproxy.Script(luacall.SHA("acquire")))
			_, _, err := x.set.Lock(within(t))
			require.ErrorIs(t, err, refusal.is)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 1, x.second.Requests(faultproxy.Script(luacall.SHA("acquire")))-asked)
			free(t, x.here, x.names[0])
		})
	}
}
