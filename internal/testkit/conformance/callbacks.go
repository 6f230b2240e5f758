package conformance

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

// callbacks are the cases of the application's code that a client calls. It may use the client, and the very lock whose
// call called it: no mutex of ours is locked meanwhile. What is locked all the same blocks that code, and each later
// call on the name, for good; the case hangs then, and the stacks of its goroutines tell where.
var callbacks = []contract{
	{"AContextMayUseItsLock", Listeners, contextUsesLock},
	{"AnObserverMayUseItsLock", Listeners, observerUsesLock},
	{"ALoggerMayUseItsLock", Listeners, loggerUsesLock},
	{"ADialerMayUseItsClient", Listeners | Faults, dialerUsesClient},
}

// meddler is code of the application that uses a lock.
type meddler struct {
	lab   Lab
	lock  Lock
	held  atomic.Pointer[context.Context] // of a hold of the lock, live or not; nil: none yet
	calls atomic.Int64
}

func newMeddler(lab Lab, name string) *meddler { return &meddler{lab: lab, lock: lab.Lock(0, name)} }

// meddles marks the calls of a meddler, which it does not meddle with.
type meddles struct{}

// look asks what sends nothing.
func (m *meddler) look() {
	m.calls.Add(1)
	_ = m.lab.Stats(0)
	if held := m.held.Load(); held != nil {
		_, _ = m.lock.Held(*held)
	}
}

// use does more: it takes the lock if that is free.
func (m *meddler) use() {
	m.look()
	if _, unlock, err := m.lock.TryLock(context.WithValue(context.Background(), meddles{}, true)); err == nil {
		_ = unlock()
	}
}

// hostile is a context whose Value uses a lock.
type hostile struct {
	context.Context
	*meddler
}

func (h hostile) Value(key any) any {
	h.use()
	return h.Context.Value(key)
}

// enter takes the lock in each way, once with a new context and once inside, and gives it back.
func (m *meddler) enter(t *testing.T, wrap func(context.Context) context.Context) {
	t.Helper()
	held, unlock := take(t, wrap(within(t)), m.lock)
	m.held.Store(&held)
	if m.lab.Lacks&Reentry == 0 {
		_, inner := take(t, wrap(held), m.lock)
		require.NoError(t, inner())
	}
	require.NoError(t, unlock())
	require.NoError(t, m.lock.Do(wrap(within(t)), func(context.Context) error { return nil }))
	if _, unlock, err := m.lock.TryLock(wrap(within(t))); err == nil {
		require.NoError(t, unlock())
	}
	_ = context.Cause(held)
}

// loses holds the lock until it is lost and that was told, and takes it again.
func (m *meddler) loses(t *testing.T, name string, told <-chan struct{}, what string) {
	t.Helper()
	held, unlock := take(t, within(t), m.lab.Lock(0, name, lock.FixedLease(m.lab.Leases.Fit(instant))))
	m.held.Store(&held)
	require.ErrorIs(t, ended(t, held), lock.ErrLost)
	await(t, told, what)
	require.ErrorIs(t, unlock(), lock.ErrLost)
	m.enter(t, same)
	soonFree(t, m.lab.Lock(1, name))
}

func same(ctx context.Context) context.Context { return ctx }

func contextUsesLock(t *testing.T, lab Lab) {
	n := name(t)
	m := newMeddler(lab, n)
	for range 2 { // the second time there is a hold to ask for
		m.enter(t, func(ctx context.Context) context.Context { return hostile{ctx, m} })
	}
	require.Greater(t, m.calls.Load(), 0)
	soonFree(t, lab.Lock(0, n))
	soonFree(t, lab.Lock(1, n))
}

// A loss is among what is told.
func observerUsesLock(t *testing.T, lab Lab) {
	n := name(t)
	m, lost := newMeddler(lab, n), make(chan struct{}, 1)
	lab.Listener(0).Hear(func(e Event) {
		switch {
		case e.Ctx != nil && e.Ctx.Value(meddles{}) != nil: // of the meddler's own call
		case e.Name == "Command", e.Name == "Log", e.Name == "Renewed": // each use would bring another one
			m.look()
		default:
			m.use()
		}
		if e.Name == "Lost" {
			signal(lost)
		}
	})
	defer lab.Listener(0).Hear(nil)
	m.enter(t, same)
	m.loses(t, n, lost, "the observer is told of a loss")
}

// A loss is logged.
func loggerUsesLock(t *testing.T, lab Lab) {
	n := name(t)
	m, logged := newMeddler(lab, n), make(chan struct{}, 1)
	lab.Listener(0).Hear(func(e Event) {
		if e.Name == "Log" {
			m.use()
			if i, ok := m.lock.(inspector); ok {
				_, _ = i.Inspect(context.Background())
			}
			signal(logged)
		}
	})
	defer lab.Listener(0).Hear(nil)
	m.loses(t, n, logged, "the loss is logged")
}

// instant is a fixed lease that is to end soon.
const instant = 300 * time.Millisecond

// signal sends to who waits, or will.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// inspector is a lock that tells who holds it.
type inspector interface {
	Inspect(ctx context.Context) (lock.Info, error)
}

// A dialer needs what it dials for, so it asks for nothing that would have to be dialled. It is answered while the call
// is under way that needs the connection: otherwise that would have none before the time of a request is over.
func dialerUsesClient(t *testing.T, lab Lab) {
	n := name(t)
	m, path := newMeddler(lab, n), lab.Path(0)
	path.Each(m.look)
	defer path.Each(nil)
	m.enter(t, same)
	path.Cut()
	_, unlock, err := lab.Lock(0, n, lock.MaxWait(request)).Lock(within(t))
	require.NoError(t, err, "the dialer has its answer")
	require.NoError(t, unlock())
	require.Greater(t, m.calls.Load(), 1)
}
