package pgstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

// pooled is a pool whose dialer may be out of order.
type pooled struct {
	*pool
	refuses atomic.Bool
	dials   atomic.Int64
}

var errNoPlace = errors.New("no place is left")

func newPool(t *testing.T, idle, lifetime time.Duration) *pooled {
	t.Helper()
	url := pgtest.Shared(t).Database(t)
	life, end := context.WithCancel(context.Background())
	p := &pooled{}
	p.pool = &pool{life: life, most: 10, idle: idle, lifetime: lifetimes(lifetime, 0)}
	config := newConfig(t, url)
	p.dial = func(ctx context.Context) (*pgx.Conn, error) {
		p.dials.Add(1)
		if p.refuses.Load() {
			return nil, errNoPlace
		}
		return pgx.ConnectConfig(ctx, config.Copy())
	}
	t.Cleanup(func() {
		end()
		p.close()
	})
	return p
}

// newConfig has connections with what the pool needs of them.
func newConfig(t *testing.T, url string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	c := &conns{life: context.Background()}
	c.adapt(config)
	return config
}

// has takes a connection, which the test must give back.
func (p *pooled) has(t *testing.T) *link {
	t.Helper()
	l, err := p.take(within(t), false)
	require.NoError(t, err)
	return l
}

// Where no new connection can be made, a request gets the next one that comes back, a renewal first. It fails at once
// only where none is in use.
func TestAConnectionThatCannotBeMade(t *testing.T) {
	t.Parallel()
	p := newPool(t, time.Hour, time.Hour)
	l := p.has(t)
	p.refuses.Store(true)

	var order []string
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, name := range []string{"first", "second", "renewal"} {
		all.Go(func() {
			l, err := p.take(within(t), name == "renewal")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			p.put(l)
		})
		pgtest.Eventually(t, func() bool { return p.dials.Load() == int64(i+2) }, "one was to be made")
	}
	p.put(l)
	all.Wait()
	require.Equal(t, []string{"renewal", "first", "second"}, order)

	p.reset()
	_, err := p.take(within(t), false)
	require.ErrorIs(t, err, errNoPlace)
}

// The connection that is in use breaks: a request that waits for it learns why there is no other.
func TestWhoWaitsForAConnectionThatBreaks(t *testing.T) {
	t.Parallel()
	p := newPool(t, time.Hour, time.Hour)
	l := p.has(t)
	p.refuses.Store(true)
	failed := make(chan error)
	go func() {
		_, err := p.take(within(t), false)
		failed <- err
	}()
	pgtest.Eventually(t, func() bool { return p.dials.Load() == 2 }, "one was to be made")
	require.NoError(t, l.Close(within(t)))
	p.put(l)
	require.ErrorIs(t, await(t, failed), errNoPlace)
}

// A taker that was given a connection has it for good, though the one that was being made for it fails later: it would
// return both, and the connection would be nobody's.
func TestAConnectionThatComesBackBeforeTheNewOneFails(t *testing.T) {
	t.Parallel()
	p := newPool(t, time.Hour, time.Hour)
	l := p.has(t)
	fails := make(chan struct{})
	p.dial = func(context.Context) (*pgx.Conn, error) {
		<-fails
		return nil, errNoPlace
	}
	waits := &taker{ctx: within(t), served: make(chan struct{})}
	p.mu.Lock()
	p.queue = append(p.queue, waits)
	p.makeLocked()
	p.mu.Unlock()
	p.put(l)
	<-waits.served
	close(fails)
	pgtest.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.making) == 0
	}, "it was made in vain")
	p.put(l)
	require.Same(t, l, waits.link)
	require.NoError(t, waits.failed)
}

// No more connections are made than callers use at a time, however often they use them while more are being made: it was 136
// for 64 (defect G13).
func TestNoMoreConnectionsAreMadeThanAreUsed(t *testing.T) {
	t.Parallel()
	p := newPool(t, time.Hour, time.Hour)
	dial := p.dial
	p.dial = func(ctx context.Context) (*pgx.Conn, error) {
		conn, err := dial(ctx)
		if p.dials.Load() > 1 {
			time.Sleep(100 * time.Millisecond) // all but the first take a while
		}
		return conn, err
	}
	p.put(p.has(t))
	var all sync.WaitGroup
	for range p.most {
		all.Go(func() {
			for range 100 {
				l, err := p.take(within(t), false)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
				p.put(l)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, p.dials.Load(), int64(p.most))
}

// That a connection could not be made says nothing to a request that came later: another one is made for it.
func TestAConnectionThatFailsForOneThatLeft(t *testing.T) {
	t.Parallel()
	p := newPool(t, time.Hour, time.Hour)
	dial, began, fails := p.dial, make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	p.dial = func(ctx context.Context) (*pgx.Conn, error) {
		if first.CompareAndSwap(false, true) {
			close(began)
			<-fails
			return nil, errNoPlace
		}
		return dial(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := p.take(ctx, false)
		left <- err
	}()
	<-began
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	got := make(chan *link, 1)
	go func() {
		l, err := p.take(within(t), false)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	pgtest.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.queue) > 0 || p.used > 0
	}, "it waits")
	close(fails)
	p.put(<-got)
}

// A connection whose making hangs is not what a later request waits for, and is one too many when it is made after all.
func TestAConnectionWhoseMakingHangs(t *testing.T) {
	t.Parallel()
	p := newPool(t, time.Hour, time.Hour)
	p.most = 1
	dial, hangs, made := p.dial, make(chan struct{}), make(chan *pgx.Conn, 1)
	var first atomic.Bool
	p.dial = func(ctx context.Context) (*pgx.Conn, error) {
		slow := first.CompareAndSwap(false, true)
		if slow {
			<-hangs
		}
		conn, err := dial(ctx)
		if slow {
			made <- conn
		}
		return conn, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	_, err := p.take(ctx, false)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	l := p.has(t)
	close(hangs)
	<-(<-made).PgConn().CleanupDone()
	p.put(l)
}

// Connections end when they have been idle for their time, when they come back after their life, and when silence or a
// broken connection speaks against them; a connection that has answered since is kept.
func TestWhenConnectionsEnd(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, time.Millisecond, time.Hour)
		l := p.has(t)
		p.put(l)
		<-l.PgConn().CleanupDone()
	})
	t.Run("old", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, time.Hour, time.Nanosecond)
		l := p.has(t)
		p.put(l)
		<-l.PgConn().CleanupDone()
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, time.Hour, time.Hour)
		silent, answers := p.has(t), p.has(t)
		p.put(silent)
		since := time.Now()
		p.put(answers)
		p.distrust(since)
		<-silent.PgConn().CleanupDone()
		left := p.has(t)
		p.put(left)
		require.Same(t, answers, left)
	})
	t.Run("misled", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, time.Hour, time.Hour)
		used := p.has(t)
		p.reset()
		p.put(used)
		<-used.PgConn().CleanupDone()
	})
}

// An application's limit for idle connections holds; without one they end before a balancer forgets them.
func TestHowLongConnectionsAreIdle(t *testing.T) {
	require.Equal(t, time.Second, idleFor(time.Second))
	require.Equal(t, time.Hour, idleFor(time.Hour))
	require.Less(t, idleFor(30*time.Minute), 4*time.Minute)
	require.Less(t, idleFor(0), 4*time.Minute)
}

// A connection that was being made as connections were reset may lead to where those led: another one is made.
func TestAConnectionThatIsMadeDuringAReset(t *testing.T) {
	t.Parallel()
	p := newPool(t, time.Hour, time.Hour)
	dial, made, goOn := p.dial, make(chan *pgx.Conn), make(chan struct{})
	var first atomic.Bool
	p.dial = func(ctx context.Context) (*pgx.Conn, error) {
		conn, err := dial(ctx)
		if err == nil && first.CompareAndSwap(false, true) {
			made <- conn
			<-goOn
		}
		return conn, err
	}
	got := make(chan *link, 1)
	go func() {
		l, _ := p.take(within(t), false)
		got <- l
	}()
	old := <-made
	p.reset()
	close(goOn)
	l := <-got
	require.NotNil(t, l)
	require.NotSame(t, old, l.Conn)
	require.Equal(t, int64(2), p.dials.Load())
	p.put(l)
}
