package rwlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// takeMany takes so many read holds of one lock, each of which Redis knows: inside a write hold, none joins another.
func takeMany(p *peer, many int) []hold {
	p.Helper()
	outer := p.write()
	defer func() { outer.frees(p) }()
	inside := context.WithoutCancel(outer.ctx)
	holds, work := make([]hold, many), make(chan int)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range work {
				ctx, unlock, err := p.Read().Lock(inside)
				holds[i] = hold{p.Read(), ctx, unlock, err}
			}
		})
	}
	for i := range many {
		work <- i
	}
	close(work)
	all.Wait()
	for _, h := range holds {
		require.NoError(p, h.err)
	}
	return holds
}

func freeMany(t *testing.T, holds []hold) {
	t.Helper()
	work := make(chan hold)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for h := range work {
				if err := h.unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, h := range holds {
		work <- h
	}
	close(work)
	all.Wait()
}

// G9: 10,000 read holds of one process are renewed with some dozens of scripts in a period, and a writer's
// attempt among them costs what it costs among a few.
func TestTenThousandReadHolds(t *testing.T) {
	t.Parallel()
	const many, lease = 10_000, 15 * time.Second
	server := redistest.Start(t)
	l := labOn(t, server)
	a, w := l.peer(rlock.ClientOptions{Lease: lease}), l.peer(rlock.ClientOptions{})
	holds := takeMany(a, many)
	require.Len(t, l.hash(), many+1)

	// The holds were taken over some time, and their renewals are spread as they are: what counts is how many
	// scripts there are for how many renewals.
	renewals := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.renewed[l.name]
	}
	scripts, before := server.Calls(t, "evalsha"), renewals()
	redistest.Eventually(t, 4*lease, func() bool { return renewals() >= before+2*many }, "they are not renewed")
	sent, renewed := server.Calls(t, "evalsha")-scripts, renewals()-before
	require.Less(t, sent, int64(renewed/20), "renewals go out in batches")
	t.Logf("%d renewals in %d scripts", renewed, sent)
	for i := 0; i < many; i += 500 {
		holds[i].known(t)
	}

	writer := w.wait(w.Write())
	l.gated()
	pttls := server.Calls(t, "pttl")
	w.busy(rwlock.New(l.peer(rlock.ClientOptions{}).client, l.name).Write())
	require.Less(t, server.Calls(t, "pttl")-pttls, int64(many/3), "it looked at all readers")
	freeMany(t, holds)
	l.arrives(writer).frees(t)
	l.clean()
}

// A thousand readers stand behind one writer of their process, and all come in when it leaves.
func TestAThousandReadersBehindAWriter(t *testing.T) {
	t.Parallel()
	const many = 1000
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	w := a.write()
	c := make(chan hold, many)
	for range many {
		go func() {
			ctx, unlock, err := a.Read().Lock(context.Background())
			c <- hold{a.Read(), ctx, unlock, err}
		}()
	}
	a.until(func() bool { return a.client.Stats().Waiters == many }, "they do not wait")
	start := time.Now()
	w.frees(t)
	holds := make([]hold, many)
	for i := range holds {
		holds[i] = l.arrives(c)
	}
	t.Logf("all in after %v", time.Since(start))
	freeMany(t, holds)
	l.clean()
}
