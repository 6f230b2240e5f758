package rwlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// passLab is a lock on a server of its own, whose scripts are counted.
type passLab struct{ *lab }

func newPassLab(t *testing.T) *passLab { return &passLab{labOn(t, redistest.Start(t))} }

// scripts is how many were sent.
func (l *passLab) scripts() int64 { return l.server.Calls(l, "evalsha") + l.server.Calls(l, "eval") }

// passRun has writers of one client wait while another client writes, and returns the first, which
// Redis has granted the lock, and those who stand behind it.
func (l *passLab) passRun(a *peer, writers ...*rlock.Lock) (first hold, behind []<-chan hold) {
	l.Helper()
	rival := l.peer(rlock.ClientOptions{})
	w := rival.write()
	for _, lock := range writers {
		behind = append(behind, a.wait(lock))
	}
	l.listened()
	w.frees(l)
	return l.arrives(behind[0]), behind[1:]
}

// R6, R1: the next writer in the queue has the lock without a request, with a context and a token of its own.
func TestAWritersTurnCostsNoRequest(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	a := l.peer(rlock.ClientOptions{})
	first, behind := l.passRun(a, a.Write(), a.Write())
	before, granted := l.scripts(), first.known(t)
	first.frees(t)
	second := l.arrives(behind[0])
	known := second.known(t)
	require.Equal(t, before, l.scripts())
	require.Equal(t, granted.ID, known.ID)
	require.Equal(t, granted.Fence+1, known.Fence)
	inner := a.take(a.Read(), second.ctx)
	require.Equal(t, known.Fence, inner.known(t).Fence, "who reads inside it has its token")
	require.Equal(t, map[string]string{"mode": "write", known.ID + ":write": "1", inner.known(t).ID: "1"}, l.hash())
	inner.frees(t)
	second.frees(t)
	w := a.write()
	require.Greater(t, w.known(t).Fence, known.Fence)
	w.frees(t)
	l.clean()
}

// R9: a write hold that was nested is passed on like any other.
func TestAWriterThatWasNestedPassesOn(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	a := l.peer(rlock.ClientOptions{})
	first, behind := l.passRun(a, a.Write(), a.Write())
	granted := first.known(t)
	for range 100 {
		a.take(a.Write(), first.ctx).frees(t)
	}
	first.frees(t)
	second := l.arrives(behind[0])
	require.Equal(t, 1, second.known(t).Count)
	require.Greater(t, second.known(t).Fence, granted.Fence)
	require.Equal(t, "1", l.hash()[second.known(t).ID+":write"])
	second.frees(t)
	l.clean()
}

// R3: what Redis would not have granted the same is granted by Redis.
func TestWhatIsNotPassedToTheNextWriter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		second []rlock.Option
		work   func(a *peer, first hold)
	}{
		"a read was inside it":                          {work: func(a *peer, first hold) { a.take(a.Read(), first.ctx).frees(a) }},
		"the next one wants a lease that nobody renews": {second: []rlock.Option{rlock.FixedLease(time.Minute)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPassLab(t)
			a := l.peer(rlock.ClientOptions{})
			first, behind := l.passRun(a, a.Write(), rwlock.New(a.client, l.name, test.second...).Write())
			if test.work != nil {
				test.work(a, first)
			}
			granted := first.known(t)
			first.frees(t)
			second := l.arrives(behind[0])
			require.NotEqual(t, granted.ID, second.known(t).ID)
			require.Greater(t, second.known(t).Fence, granted.Fence)
			second.frees(t)
			l.clean()
		})
	}
}

// R3: a read hold that outlives the write hold around it keeps writers out, those of its process too. One of these that
// waits then shuts the gate, as it would in any other process.
func TestADowngradeIsNotPassedOn(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first, behind := l.passRun(a, a.Write(), a.Write())
	kept := a.take(a.Read(), first.ctx)
	first.frees(t)
	l.gated()
	b.busy(b.Read())
	require.ErrorIs(t, kept.ends(t), rlock.ErrReleased, "its context is a child of the write hold's")
	require.Empty(t, behind[0])
	require.NoError(t, kept.unlock())
	second := l.arrives(behind[0])
	second.frees(t)
	l.clean()
}

// A reader that stands first ends the run, and those of other processes come in with it. No writer waits behind it:
// that one shuts the gate for later readers, and the other process's would be in or out by chance.
func TestAReaderThatStandsFirstEndsTheRun(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first, behind := l.passRun(a, a.Write(), a.Read())
	other := b.wait(b.Read())
	l.listeners(2)
	first.frees(t)
	mine, theirs := l.arrives(behind[0]), l.arrives(other)
	writer := a.wait(a.Write())
	l.gated()
	mine.frees(t)
	require.Empty(t, writer)
	theirs.frees(t)
	l.arrives(writer).frees(t)
	l.clean()
}

// A reader is not passed over by a writer that stands behind it.
func TestAReaderBetweenWritersHasItsTurn(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	a := l.peer(rlock.ClientOptions{})
	first, behind := l.passRun(a, a.Write(), a.Read(), a.Write())
	first.frees(t)
	reader := l.arrives(behind[0])
	require.Empty(t, behind[1])
	reader.frees(t)
	l.arrives(behind[1]).frees(t)
	l.clean()
}

// R4: while the writers of a process pass the lock to one another without a pause, a reader and a writer of other
// processes get in, and nobody is in together with a writer.
func TestARunOfWritersEnds(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	var all sync.WaitGroup
	var stop, inside atomic.Bool
	var newest, turns atomic.Int64
	write := func(held context.Context) {
		known, err := a.Write().Held(held)
		if err != nil {
			known, err = b.Write().Held(held)
		}
		if err != nil || inside.Swap(true) || newest.Swap(known.Fence) >= known.Fence {
			t.Error("two hold the lock, or a token fell", err)
		}
		turns.Add(1)
		inside.Store(false)
	}
	for range 16 {
		all.Go(func() {
			for !stop.Load() {
				if err := a.Write().Do(context.Background(), func(held context.Context) error {
					write(held)
					return nil
				}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer func() { stop.Store(true); all.Wait() }()
	redistest.Eventually(t, patience, func() bool { return turns.Load() > 0 }, "the run does not begin")
	scripts := l.scripts()
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		r, unlock, err := b.Read().Lock(ctx)
		require.NoError(t, err, "the reader starves")
		known, err := b.Read().Held(r)
		require.NoError(t, err)
		require.GreaterOrEqual(t, known.Fence, newest.Load(), "no writer before it had a higher token")
		require.False(t, inside.Load())
		require.NoError(t, unlock())
		require.NoError(t, b.Write().Do(ctx, func(held context.Context) error { write(held); return nil }))
		cancel()
	}
	require.Greater(t, turns.Load(), l.scripts()-scripts, "most turns cost none")
}
