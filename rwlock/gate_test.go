package rwlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// gated waits until a writer has shut the gate.
func (l *lab) gated() {
	l.Helper()
	redistest.Eventually(l, patience, func() bool {
		return l.rdb.Exists(context.Background(), l.gate()).Val() == 1
	}, "no gate")
}

// joinsNoMore waits until readers of p do not join the grant of one of them any more.
func (p *peer) joinsNoMore(first hold) {
	p.Helper()
	redistest.Eventually(p, patience, func() bool {
		_, unlock, err := p.Read().TryLock(context.Background())
		if err != nil {
			return true
		}
		require.NoError(p, unlock())
		return false
	}, "readers join for ever")
	first.known(p)
}

func TestReadersThatComeLaterWaitBehindAWriter(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b, c := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.read()
	writer := b.wait(b.Write())
	l.gated()
	a.joinsNoMore(first)
	for _, p := range []*peer{a, b, c} {
		p.busy(p.Read())
	}
	inner := a.take(a.Read(), first.ctx) // a reader may read again
	later := c.wait(c.Read())
	inner.frees(t)
	first.frees(t)
	w := l.arrives(writer)
	require.Empty(t, later)
	w.frees(t)
	l.arrives(later).frees(t)
	l.clean()
}

// Defect G59: a writer that waits behind a reader of its own process shuts the gate to all processes.
func TestReadersOfAProcessWaitBehindItsWriter(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.read()
	writer := a.wait(a.Write())
	a.busy(a.Read())
	later := a.wait(a.Read())
	inner := a.take(a.Read(), first.ctx)
	inner.frees(t)
	l.gated()
	b.busy(b.Read())
	seen, err := b.Write().Inspect(t.Context())
	require.NoError(t, err)
	require.Positive(t, seen.Waiters, "of the other process")
	elsewhere := b.wait(b.Read())
	first.frees(t)
	w := l.arrives(writer)
	require.Empty(t, later)
	require.Empty(t, elsewhere)
	w.frees(t)
	l.arrives(later).frees(t)
	l.arrives(elsewhere).frees(t)
	l.clean()
}

// A writer that gives up behind a reader of its own process says so, though it asked Redis (defect G59).
func TestAWriterThatGivesUpBehindAReaderOfItsProcessSaysSo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	first := a.read()
	_, _, err := rwlock.New(a.client, l.name, rlock.MaxWait(200*time.Millisecond)).Write().Lock(t.Context())
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.ErrorContains(t, err, "of this process has it")
	first.frees(t)
	l.clean()
}

// Three processes read without a pause, each hold overlapping others, and a writer gets in all the same.
func TestAWriterIsNotStarvedByReaders(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var stop atomic.Bool
	var all sync.WaitGroup
	var reads atomic.Int64
	for range 3 {
		p := l.peer(rlock.ClientOptions{})
		for range 4 {
			all.Go(func() {
				for !stop.Load() {
					err := p.Read().Do(context.Background(), func(context.Context) error {
						reads.Add(1)
						time.Sleep(2 * time.Millisecond) // the reading
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	defer func() { stop.Store(true); all.Wait() }()
	w := l.peer(rlock.ClientOptions{})
	for range 10 {
		before := reads.Load()
		redistest.Eventually(t, patience, func() bool { return reads.Load() > before+10 }, "nobody reads")
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, unlock, err := w.Write().Lock(ctx)
		require.NoError(t, err, "the writer starves")
		require.NoError(t, unlock())
		cancel()
	}
}

// However a writer's wait ends, its gate opens at once, and readers that wait there are woken: nobody polls.
func TestAWriterThatGivesUpOpensItsGate(t *testing.T) {
	t.Parallel()
	for how, opts := range map[string][]rlock.Option{
		"context": nil,
		"MaxWait": {rlock.MaxWait(300 * time.Millisecond)},
		"Close":   nil,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}, opts...)
			first := a.read()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			writer := b.waitWith(ctx, b.Write())
			l.gated()
			later := make(chan hold, 1)
			go func() {
				ctx, unlock, err := a.Read().Lock(context.Background())
				later <- hold{a.Read(), ctx, unlock, err}
			}()
			switch how {
			case "context":
				cancel()
			case "Close":
				require.NoError(t, b.client.Close())
			}
			h := <-writer
			require.True(t, errors.Is(h.err, rlock.ErrBusy) || errors.Is(h.err, rlock.ErrClosed), "%v", h.err)
			l.arrives(later).frees(t)
			first.frees(t)
			l.clean()
		})
	}
}

func TestTryLockShutsNoGate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.read()
	for range 20 {
		b.busy(b.Write())
		b.read().frees(t)
	}
	require.Zero(t, l.rdb.Exists(t.Context(), l.gate()).Val())
	first.frees(t)
	l.clean()
}

// The gate of a writer that waits stays shut for longer than its own life, which is two and a half poll
// intervals.
func TestTheGateStaysShutWhileItsWriterWaits(t *testing.T) {
	t.Parallel()
	const poll = 100 * time.Millisecond
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{MaxPoll: poll})
	first := a.read()
	writer := b.wait(b.Write())
	l.gated()
	lapses := 0
	for end := time.Now().Add(12 * poll); time.Now().Before(end); time.Sleep(poll / 20) {
		if l.rdb.Exists(t.Context(), l.gate()).Val() == 0 {
			lapses++
		}
	}
	require.Less(t, lapses, 60, "of some 240 looks; the machine may be busy")
	first.frees(t)
	l.arrives(writer).frees(t)
	l.clean()
}
