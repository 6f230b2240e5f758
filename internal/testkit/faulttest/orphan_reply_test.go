package faulttest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

func acquisition() faultproxy.Match { return faultproxy.Script(luacall.SHA("acquire")) }

// G4, need 8, bug 11: the context ends exactly between the server's grant and its reply. The caller gets its
// error at once, the hold goes soon, and the waiter behind it, in another client or in the same one, gets
// the lock by that release and not by a poll or by the end of a lease.
func TestGrantThatNobodyWaitsForIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Lock", "TryLock"} {
		for _, reply := range []string{"late", "never"} {
			t.Run(method+", reply "+reply, func(t *testing.T) {
				t.Parallel()
				p := newFaultyPath(t)
				// A command's limit, after which the reply counts as lost, is 3 s.
				opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
				client := p.client(opts)
				p.warmUp(client, 2)
				other := p.straight(opts)
				p.abandonGrant(client, other, method, reply)
			})
		}
	}
}

func (p *faultyPath) abandonGrant(client, other *rlock.Client, method, reply string) {
	const name = "abandoned"
	t, lock := p.t, rlock.New(client, name)
	gate := faultproxy.NewGate()
	granted := p.proxy.On(acquisition(), faultproxy.HoldReply(gate))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := lock.Lock
	if method == "TryLock" {
		call = lock.TryLock
	}
	grants := faultCall(ctx, call)
	granted.Wait(t, 1)
	require.True(t, p.exists(name))

	// The next in this process, and one in another: both have to get in.
	local := faultCall(t.Context(), lock.Lock)
	p.queued(lock, 2)
	remote := faultCall(t.Context(), rlock.New(other, name).Lock)
	p.listened(name)

	cancel()
	g := faultAwait(t, grants, orphanAtOnce)
	require.ErrorIs(t, g.err, context.Canceled)
	require.ErrorIs(t, g.err, rlock.ErrUnavailable, "nobody said that the lock is held by another")
	if reply == "late" {
		gate.Open()
	}
	for range 2 {
		select {
		case g = <-local:
		case g = <-remote:
		case <-time.After(faultSoon):
			t.Fatal("the grant was not given back")
		}
		require.NoError(t, g.err)
		require.NoError(t, g.unlock())
	}
	gate.Open()
	p.cleansUp(faultSoon)
}

// Bug 5: an attempt whose reply was lost has taken the lock. The same call's next attempt finds its own
// hold and is not in its own way.
func TestLockIsNotBlockedByItsOwnLostAttempt(t *testing.T) {
	t.Parallel()
	faults := map[string]faultproxy.Action{
		"connection cut after the grant":  faultproxy.CutAfter,
		"connection cut before the grant": faultproxy.CutBefore,
		"cut in the reply":                faultproxy.CutReplyAt(3),
		"reply lost":                      faultproxy.DropReply,
		"request lost":                    faultproxy.DropRequest,
	}
	for fault, action := range faults {
		for _, method := range []string{"Lock", "TryLock"} {
			t.Run(fault+", "+method, func(t *testing.T) {
				t.Parallel()
				p := newFaultyPath(t)
				client := p.client(rlock.ClientOptions{Lease: 6 * time.Second, MaxPoll: faultNever})
				p.warmUp(client, 1)
				grants := p.server.Calls(t, "hset")
				lock := rlock.New(client, "own")
				call := lock.Lock
				if method == "TryLock" {
					call = lock.TryLock
				}
				lost := p.proxy.On(acquisition(), action).Times(2)
				g := faultAwait(t, faultCall(t.Context(), call), 2*faultSoon)
				if method == "TryLock" && strings.HasSuffix(fault, "lost") { // it has waited for as long as it may
					require.ErrorIs(t, g.err, rlock.ErrUnavailable)
					p.cleansUp(faultSoon)
					return
				}
				require.NoError(t, g.err)
				lost.Wait(t, 2) // the call can be over before the proxy has counted
				require.Equal(t, grants+1, p.server.Calls(t, "hset"), "one call took the lock twice")
				require.NoError(t, g.unlock())
				p.cleansUp(faultSoon)
			})
		}
	}
}

// The same for a call that first waits: of its attempts after the release the first is lost as well.
func TestWaiterIsNotBlockedByItsOwnLostAttempt(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
	_, unlock := p.hold(rlock.New(p.straight(opts), "own"))
	lock := rlock.New(p.client(opts), "own")
	waiting := faultCall(t.Context(), lock.Lock)
	p.listened("own")
	// It asks once more when the subscription stands. What comes after that is for the wake-up.
	redistest.Eventually(t, faultSoon, func() bool { return p.server.Calls(t, "hgetall") >= 2 },
		"the waiter did not ask again")
	lost := p.proxy.On(acquisition(), faultproxy.CutAfter)
	require.NoError(t, unlock())
	faultEnters(t, waiting, faultSoon)
	lost.Wait(t, 1)
	p.cleansUp(faultSoon)
}
