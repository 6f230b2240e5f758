package observertest_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/memquorum"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	lease    = 900 * time.Millisecond
	patience = 30 * time.Second // of a wait for what must happen
)

// side is one process's way to a lock.
type side struct {
	lock   func(opts ...rlock.Option) rlock.Locker
	breaks func(ctx context.Context) error
	close  func() error
}

// kinds open the two sides of a lock: the one that is observed, and its rival.
var kinds = map[lock.Kind]func(t *testing.T, at *lab, o *rlock.Observer, name string) side{
	lock.KindLock: plain(func(c *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
		return rlock.New(c, name, opts...)
	}),
	lock.KindFair: plain(fairlock.New),
	lock.KindWrite: plain(func(c *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
		return rwlock.New(c, name, opts...).Write()
	}),
	lock.KindRead:      openRead,
	lock.KindSemaphore: openSemaphore,
	lock.KindMultilock: openSet,
	lock.KindRedlock:   openRedlock,
}

func options(o *rlock.Observer) rlock.ClientOptions {
	return rlock.ClientOptions{
		Lease: lease, MaxPoll: 50 * time.Millisecond, ReleaseTimeout: 2 * time.Second, Observer: o, FenceTTL: 24 * time.Hour,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// lab is a store in memory, and one node of a redlock.
type lab struct {
	*holdfasttest.Lab
	node    *memquorum.Server
	clients int // of the node
}

// calm is a network in which nothing happens.
type calm struct{}

func (calm) Fate(memstore.Request) memstore.Fate { return memstore.Fate{} }

// inLab runs a test for each kind, in virtual time.
func inLab(t *testing.T, test func(s *scene, at *lab)) {
	t.Helper()
	t.Parallel()
	for kind, open := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				at := &lab{Lab: holdfasttest.New(t), node: memquorum.New("node", calm{}, time.Hour, 0)}
				s := &scene{T: t, kind: kind, open: func(o *rlock.Observer) side { return open(t, at, o, "gate") }}
				test(s, at)
			})
		})
	}
}

func client(at *lab, o *rlock.Observer) *rlock.Client {
	opts := options(o)
	return at.Client(&opts)
}

func plain(
	open func(c *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock,
) func(*testing.T, *lab, *rlock.Observer, string) side {
	return func(t *testing.T, at *lab, o *rlock.Observer, name string) side {
		c := client(at, o)
		return side{
			lock:   func(opts ...rlock.Option) rlock.Locker { return open(c, name, opts...) },
			breaks: open(c, name).Break,
			close:  c.Close,
		}
	}
}

// openRead reads, and its rival, which is nobody's concern, writes.
func openRead(t *testing.T, at *lab, o *rlock.Observer, name string) side {
	s := plain(func(c *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
		if o == nil {
			return rwlock.New(c, name, opts...).Write()
		}
		return rwlock.New(c, name, opts...).Read()
	})(t, at, o, name)
	if o == nil {
		read := rwlock.New(client(at, nil), name).Read()
		s.breaks = read.Break
	}
	return s
}

func openSemaphore(t *testing.T, at *lab, o *rlock.Observer, name string) side {
	c := client(at, o)
	s := semaphore.New(c, name)
	require.NoError(t, s.SetCapacity(t.Context(), 2))
	return side{
		lock: func(opts ...rlock.Option) rlock.Locker { return permits{semaphore.New(c, name, opts...)} },
		breaks: func(ctx context.Context) error {
			info, err := s.Inspect(ctx)
			if err != nil {
				return err
			}
			return s.Break(ctx, info.Holders[0].ID)
		},
		close: c.Close,
	}
}

// permits are both permits of a semaphore.
type permits struct{ s *semaphore.Semaphore }

func (p permits) Lock(ctx context.Context) (context.Context, func() error, error) {
	return p.s.Acquire(ctx, 2)
}

func (p permits) TryLock(ctx context.Context) (context.Context, func() error, error) {
	return p.s.TryAcquire(ctx, 2)
}

func (p permits) Do(ctx context.Context, fn func(context.Context) error) error {
	return p.s.Do(ctx, 2, fn)
}

func openSet(t *testing.T, at *lab, o *rlock.Observer, name string) side {
	c := client(at, o)
	set := func(opts ...rlock.Option) *multilock.Lock {
		return multilock.New([]*rlock.Lock{
			rlock.New(c, name), rlock.New(c, name+":b"), fairlock.New(c, name+":c"),
		}, opts...)
	}
	return side{
		lock:   func(opts ...rlock.Option) rlock.Locker { return set(opts...) },
		breaks: set().Break,
		close:  c.Close,
	}
}

func openRedlock(t *testing.T, at *lab, o *rlock.Observer, name string) side {
	at.clients++
	opts := redlock.Options{ClientOptions: options(o), NoRestartGuard: true, RestartGuard: time.Hour}
	c, err := redlock.NewClient([]redis.UniversalClient{at.node.Node(at.clients, false, func(*memquorum.Link) {})}, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return side{
		lock:   func(opts ...rlock.Option) rlock.Locker { return redlock.New(c, name, opts...) },
		breaks: redlock.New(c, name).Break,
		close:  c.Close,
	}
}

// scene is one way in which a call or a hold ends, for one kind.
type scene struct {
	*testing.T
	kind        lock.Kind
	open        func(o *rlock.Observer) side
	told        observertest.Checker
	mine, rival side
}

func (s *scene) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

func (s *scene) taken(by rlock.Locker) (context.Context, func() error) {
	s.Helper()
	held, unlock, err := by.Lock(s.ctx())
	require.NoError(s, err)
	return held, unlock
}

// lost waits until a hold has ended.
func (s *scene) lost(held context.Context) {
	s.Helper()
	select {
	case <-held.Done():
	case <-s.ctx().Done():
		s.Fatal("the hold has not ended")
	}
}

// play runs a scene for every kind, and checks it when the client is closed and all was told.
func play(t *testing.T, act func(s *scene), check func(s *scene)) {
	t.Helper()
	inLab(t, func(s *scene, _ *lab) {
		s.mine, s.rival = s.open(s.told.Observer()), s.open(nil)
		act(s)
		_ = s.mine.close() // it may name what is held
		s.told.Check(s)
		check(s)
	})
}

// outcomes are how the calls, and the holds, have ended.
func (s *scene) outcomes() (calls, holds []lock.Outcome) {
	for _, e := range s.told.Calls() {
		require.Equal(s, s.kind, e.Kind)
		calls = append(calls, lock.OutcomeOf(e.Err))
	}
	for _, e := range s.told.Holds() {
		require.Equal(s, s.kind, e.Kind)
		holds = append(holds, lock.OutcomeOfHold(e.Err))
	}
	return calls, holds
}
