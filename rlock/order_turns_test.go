package rlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// conductScripts are the calls that a proxy has seen, by script.
type conductScripts struct{ acquire, release int }

func conductCount(p *faultproxy.Proxy) conductScripts {
	return conductScripts{
		acquire: p.Requests(conductScript("acquire")),
		release: p.Requests(conductScript("release")),
	}
}

func (s conductScripts) since(before conductScripts) conductScripts {
	return conductScripts{
		acquire: s.acquire - before.acquire,
		release: s.release - before.release,
	}
}

// conductWarm makes the server know the scripts and the client the server's clock, so that from here
// on every turn costs what it costs.
func conductWarm(t *testing.T, line conductLine, lock *rlock.Lock) {
	t.Helper()
	_, unlock := conductTake(t, conductCtx(t), lock)
	waiter := line.join(t, conductCtx(t), lock)
	require.NoError(t, unlock())
	_, err := lock.Inspect(conductCtx(t))
	require.NoError(t, err)
	require.NoError(t, line.in(t, waiter).unlock())
}

// G8, G12, R1, R2: first in, first out, and a turn costs no request. The first turn, behind which nobody was
// queued when it began, is released, and the next acquires with tokens for those that follow. Each holder queues
// its successor before it leaves, so that the order is not the scheduler's.
func TestSixtyFourWaitersTakeTurnsInOrder(t *testing.T) {
	t.Parallel()
	const waiters, rounds = 64, 8
	const turns = 1 + waiters*rounds
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	// No renewal comes between the counted calls, however slow the machine is.
	line := conductLineOn(t, proxy.Addr(), &rlock.ClientOptions{Lease: 10 * time.Minute})
	lock := rlock.New(line.Client, "turns")
	conductWarm(t, line, lock)

	type turn struct {
		who int
		conductGrant
	}
	granted := make(chan turn, waiters)
	enlist := func(who int) {
		g := line.join(t, conductCtx(t), lock)
		go func() { granted <- turn{who, <-g} }()
	}
	before, calls, began := conductCount(proxy), conductCalls(t, server), time.Now()
	held, unlock := conductTake(t, conductCtx(t), lock)
	for who := range waiters {
		enlist(who)
	}
	info, err := lock.Inspect(conductCtx(t))
	require.NoError(t, err)
	require.Equal(t, waiters, info.Waiters)
	last, err := lock.Held(held)
	require.NoError(t, err)
	require.NoError(t, unlock())

	requests := 1 // the first acquisition
	for n := range turns - 1 {
		now := conductAwait(t, granted, "the next turn")
		require.NoError(t, now.err)
		require.Equal(t, n%waiters, now.who, "turn %d", n)
		hold, err := lock.Held(now.ctx)
		require.NoError(t, err)
		require.Equal(t, 1, hold.Count)
		if hold.ID == last.ID {
			require.Equal(t, last.Fence+1, hold.Fence, "each turn has the next token (R2)")
		} else {
			requests++
			require.Greater(t, hold.Fence, last.Fence, "what comes after a run is above all of it (G13)")
		}
		last = hold
		if n < turns-1-waiters {
			enlist(now.who)
		}
		require.NoError(t, now.unlock())
	}

	took, sent := time.Since(began), conductCount(proxy).since(before)
	require.Equal(t, requests, sent.acquire, "every id began with one script: %+v", sent)
	require.Equal(t, requests, sent.release, "every id ended with one script: %+v", sent)
	inspections := 1
	others := conductCalls(t, server) - calls - int64(requests+sent.release+inspections)
	require.GreaterOrEqual(t, others, int64(0), "%+v", sent)
	require.LessOrEqual(t, others, int64(3),
		"nothing else was sent, but as the client began to listen it asked whether it missed a break: %+v", sent)
	require.LessOrEqual(t, sent.release, 2+int(took/(8*time.Millisecond)),
		"the lock is released no oftener than the runs' bounds say: %+v in %v", sent, took)
	require.Empty(t, conductHeldKeys(t, server))
}

// conductCalls counts script calls at the server.
func conductCalls(t *testing.T, server *redistest.Server) int64 {
	t.Helper()
	return server.Calls(t, "evalsha") + server.Calls(t, "eval")
}

// G12: a process whose callers never pause lets others in. What is bounded is runs: each ends with a release,
// and the other client now and then comes too late for a gap.
func TestASecondClientGetsInBetween(t *testing.T) {
	t.Parallel()
	const runners, wanted = 64, 10
	server := redistest.Start(t)
	busy, other := conductClient(t, server.Addr(), nil), conductClient(t, server.Addr(), nil)
	var turns atomic.Int64
	ctx, stop := context.WithCancel(conductCtx(t))
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for range runners {
		all.Go(func() {
			for ctx.Err() == nil {
				_, unlock, err := rlock.New(busy, "shared").Lock(ctx)
				if err == nil {
					turns.Add(1)
					err = unlock()
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	redistest.Eventually(t, conductLimit, func() bool { return turns.Load() > runners },
		"the first client is busy")
	start, released := turns.Load(), server.Calls(t, "publish")
	for range wanted {
		_, unlock := conductTake(t, conductCtx(t), rlock.New(other, "shared"))
		require.NoError(t, unlock())
	}
	runs := server.Calls(t, "publish") - released - wanted
	t.Logf("%d turns of the other client within %d, in %d runs", wanted, turns.Load()-start, runs)
	require.Less(t, runs, int64(wanted*10), "runs of the busy client for %d turns of the other", wanted)
}
