package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// orphanAtOnce is far below the 3 s that a command of a 30 s lease may take.
const orphanAtOnce = 1500 * time.Millisecond

// orphanCall is a call that Redis does not answer, and what the test has to undo afterwards.
type orphanCall struct {
	ctx  context.Context // to be ended during the call
	call func(context.Context) (context.Context, func() error, error)
	undo func() error
}

// G4, bug 29: a call returns at once when its context ends, also while Redis is stopped and the connection
// waits for a reply (go-redis alone would sit in that read for seconds), and when Redis runs again
// nothing is left of it.
func TestCallReturnsWithItsContextWhileRedisIsStopped(t *testing.T) {
	t.Parallel()
	const name = "stopped"
	kinds := map[string]func(p *faultyPath, client *rlock.Client) orphanCall{
		"first contact": func(p *faultyPath, client *rlock.Client) orphanCall {
			return orphanCall{p.t.Context(), rlock.New(client, name).Lock, nil}
		},
		"Lock": func(p *faultyPath, client *rlock.Client) orphanCall {
			require.NoError(p.t, rlock.New(client, "warm").Do(p.t.Context(), orphanNoop))
			return orphanCall{p.t.Context(), rlock.New(client, name).Lock, nil}
		},
		"TryLock": func(p *faultyPath, client *rlock.Client) orphanCall {
			require.NoError(p.t, rlock.New(client, "warm").Do(p.t.Context(), orphanNoop))
			return orphanCall{p.t.Context(), rlock.New(client, name).TryLock, nil}
		},
		"in line behind a call without answer": func(p *faultyPath, client *rlock.Client) orphanCall {
			_, unlock := p.hold(rlock.New(p.straight(rlock.ClientOptions{}), name))
			ctx, cancel := context.WithCancel(p.t.Context())
			first := faultCall(ctx, rlock.New(client, name).Lock)
			p.queued(rlock.New(client, name), 1)
			return orphanCall{p.t.Context(), rlock.New(client, name).Lock, func() error {
				cancel()
				require.Error(p.t, faultAwait(p.t, first, faultSoon).err)
				return unlock()
			}}
		},
	}
	for kind, prepare := range kinds {
		for _, end := range []string{"cancel", "deadline"} {
			t.Run(kind+", "+end, func(t *testing.T) {
				t.Parallel()
				p := newFaultyPath(t)
				client := p.client(rlock.ClientOptions{MaxPoll: 50 * time.Millisecond})
				p.endWhileStopped(prepare(p, client), end)
				next := p.straight(rlock.ClientOptions{MaxPoll: faultNever})
				faultEnters(t, faultCall(t.Context(), rlock.New(next, name).Lock), faultSoon)
			})
		}
	}
}

// endWhileStopped has a call wait for a stopped Redis and ends its context.
func (p *faultyPath) endWhileStopped(c orphanCall, how string) {
	sent := p.proxy.Requests(orphanAny)
	p.server.Stop()
	ctx, cancel := context.WithCancel(c.ctx)
	want := context.Canceled
	if how == "deadline" {
		ctx, cancel = context.WithTimeout(c.ctx, 200*time.Millisecond)
		want = context.DeadlineExceeded
	}
	defer cancel()
	grants := faultCall(ctx, c.call)
	redistest.Eventually(p.t, faultSoon, func() bool { return p.proxy.Requests(orphanAny) > sent },
		"the call sent nothing")
	if how == "cancel" {
		cancel()
	}
	<-ctx.Done()
	g := faultAwait(p.t, grants, orphanAtOnce)
	require.ErrorIs(p.t, g.err, want)
	require.ErrorIs(p.t, g.unlock(), rlock.ErrNotHeld)

	p.server.Continue()
	if c.undo != nil {
		require.NoError(p.t, c.undo())
	}
	p.cleansUp(faultSoon)
}

func orphanAny(faultproxy.Request) bool { return true }

func orphanNoop(context.Context) error { return nil }

// G4, interleaving 14b: Redis is frozen for longer than the lease. What lay in its buffers is carried
// out when it runs again, and then is too late to take anything.
func TestRequestsBufferedByAFrozenRedisTakeNothing(t *testing.T) {
	t.Parallel()
	const calls = 8 // as many exchanges as a node has under way
	p := newFaultyPath(t)
	const lease = 1200 * time.Millisecond
	client := p.client(rlock.ClientOptions{Lease: lease})
	p.warmUp(client, calls)
	monitor := p.server.Monitor(t)
	granted := p.server.Calls(t, "hset")

	sent, all := p.scripts("acquire"), p.proxy.Requests(orphanAny)
	p.server.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pending []<-chan faultGrant
	for i := range calls {
		lock := rlock.New(client, fmt.Sprintf("frozen:%d", i))
		method := lock.Lock
		if i%2 == 1 {
			method = lock.TryLock
		}
		pending = append(pending, faultCall(ctx, method))
		// One after the other, so that none shares an exchange. On a slow machine a connection may not have survived
		// until here; its call dials in vain.
		redistest.Eventually(t, faultSoon, func() bool {
			return p.scripts("acquire") > sent && p.proxy.Requests(orphanAny) > all+i
		}, "a call was not sent")
	}
	thaw := time.After(lease * 3 / 2) // the fault itself: a freeze that outlasts every lease
	cancel()
	for i, grants := range pending {
		err := faultAwait(t, grants, orphanAtOnce).err
		if i%2 == 1 && errors.Is(err, rlock.ErrUnavailable) {
			continue // TryLock makes three attempts, which a slow machine may have seen the end of
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	buffered := p.scripts("acquire") - sent
	<-thaw
	p.server.Continue()

	redistest.Eventually(t, faultSoon, func() bool {
		return orphanCarriedOut(monitor, "acquire") >= buffered
	}, "the buffered requests were not carried out")
	require.Equal(t, granted, p.server.Calls(t, "hset"), "a buffered request took a lock")
	require.Empty(t, p.lockKeys())
	for i := range calls {
		require.NoError(t, rlock.New(client, fmt.Sprintf("frozen:%d", i)).Do(t.Context(), orphanNoop))
	}
}

// warmUp makes the client open n connections and learn the server's clock: a frozen server must buffer requests of
// an existing connection. On a busy machine a short lease, or the time that a release has, may end too early; then all
// is done again.
func (p *faultyPath) warmUp(client *rlock.Client, n int) {
	p.t.Helper()
	for tries := 1; !p.warm(client, n); tries++ {
		require.Less(p.t, tries, 10, "the client does not get warm")
	}
	p.cleansUp(faultSoon)
}

// warm has n calls under way together, and reports whether all were granted.
func (p *faultyPath) warm(client *rlock.Client, n int) bool {
	p.t.Helper()
	gate := faultproxy.NewGate()
	sent := p.proxy.On(faultproxy.Script(luacall.SHA("acquire")), faultproxy.HoldRequest(gate)).Times(n)
	var pending []<-chan faultGrant
	for i := range n {
		lock := rlock.New(client, fmt.Sprintf("warm:%d", i))
		pending = append(pending, faultCall(p.t.Context(), lock.Lock))
		sent.Wait(p.t, i+1) // so that none shares an exchange
	}
	gate.Open()
	granted := true
	for _, grants := range pending {
		g := faultAwait(p.t, grants, faultSoon)
		if g.err == nil {
			err := g.unlock()
			granted = granted && err == nil
			late := errors.Is(err, rlock.ErrLost) || errors.Is(err, rlock.ErrUnconfirmed)
			require.True(p.t, err == nil || late, "%v", err)
			continue
		}
		require.ErrorIs(p.t, g.err, rlock.ErrUnavailable)
		granted = false
	}
	return granted
}

// orphanCarriedOut counts the runs of a script that a server carried out.
func orphanCarriedOut(monitor *redistest.Monitor, script string) int {
	runs := 0
	for _, line := range monitor.Lines() {
		if strings.Contains(strings.ToLower(line), `"evalsha" "`+luacall.SHA(script)) {
			runs++
		}
	}
	return runs
}
