package links

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// named is a server at the other end of a connection.
type at string

func (a at) Network() string { return "tcp" }
func (a at) String() string  { return string(a) }

type connTo struct {
	net.Conn
	to at
}

func (c connTo) RemoteAddr() net.Addr { return c.to }

// answers are those of the Sentinels.
type answers struct {
	answer atomic.Pointer[func(ctx context.Context) (net.Conn, error)]
	asked  atomic.Int32
}

func (s *answers) name(addr string) {
	s.will(func(context.Context) (net.Conn, error) { return connTo{stillborn{io.EOF}, at(addr)}, nil })
}

func (s *answers) will(fn func(ctx context.Context) (net.Conn, error)) { s.answer.Store(&fn) }

// watched runs a test of a primary that can be dialled without its Sentinels, once they named it.
func watched(t *testing.T, test func(t *testing.T, p *primary, s *answers)) {
	synctest.Test(t, func(t *testing.T) {
		s := &answers{}
		p := newPrimary(&redis.Options{
			ReadTimeout: 5 * time.Second,
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				s.asked.Add(1)
				return (*s.answer.Load())(ctx)
			},
		}, followed, func() {})
		p.straight = func(net.Conn) dial {
			return func(_ context.Context, _, addr string) (net.Conn, error) {
				return connTo{stillborn{io.EOF}, at(addr)}, nil
			}
		}
		s.name("a")
		_, err := p.dial(t.Context(), "tcp", sentinelAddr)
		require.NoError(t, err)
		synctest.Wait() // until the question has ended, which the next one would share
		defer p.sentinels.end()
		test(t, p, s)
	})
}

func master(offset int64, acked map[string]int64) *primaryRole {
	r := &primaryRole{primary: true, offset: offset, acked: acked}
	for one := range acked {
		r.replicas = append(r.replicas, one)
	}
	return r
}

var errNobody = errors.New("nobody answers")

func nobody(context.Context) (net.Conn, error) { return nil, errNobody }

// defect F2: a primary that confirms that its replicas have everything needs no Sentinel; one that does not is trusted
// in for a while after the last moment that they all confirmed, and then again when they do, or a Sentinel names it.
func TestAPrimaryIsBelievedInWhileItsReplicasConfirm(t *testing.T) {
	watched(t, func(t *testing.T, p *primary, s *answers) {
		s.will(nobody)
		reached := func() bool {
			conn, err := p.dial(t.Context(), "tcp", sentinelAddr)
			if err == nil {
				require.Equal(t, "a", peerOf(conn))
			}
			return err == nil
		}
		tell := func(r *primaryRole) { p.heard(r, time.Now(), "a") }
		for i := range int64(100) { // the replica is a second behind
			tell(master(10*i, map[string]int64{"x": 10 * (i - 2)}))
			time.Sleep(rolePause)
			require.True(t, reached())
		}
		require.EqualValues(t, 1, s.asked.Load(), "only in the beginning")
		began := time.Now()
		for reached() {
			tell(master(2000, map[string]int64{"x": 980}))
			time.Sleep(100 * time.Millisecond)
		}
		require.InDelta(t, p.trust.period.Seconds(), time.Since(began).Seconds(), 1.1, "the replica hears nothing more")
		tell(master(2000, nil))
		require.False(t, reached(), "it is gone")
		tell(master(2000, map[string]int64{"y": 2000}))
		require.False(t, reached(), "another one does not confirm for it")
		tell(master(2000, map[string]int64{"x": 2000, "y": 2000}))
		require.True(t, reached())
		tell(&primaryRole{})
		require.False(t, reached())
		s.name("a")
		require.True(t, reached())
		tell(master(2000, map[string]int64{"y": 2000}))
		time.Sleep(p.trust.period - time.Second)
		s.will(nobody)
		tell(master(2000, map[string]int64{"y": 2000}))
		time.Sleep(p.trust.period - time.Second)
		require.True(t, reached(), "it is named without the one that is gone")
	})
}

// defect F2: a question to a Sentinel that hangs goes on when its caller has left, and others wait for the same one. It
// ends by its own limit, with an error that go-redis does not take for its caller's end.
func TestAQuestionOutlivesItsCallers(t *testing.T) {
	watched(t, func(t *testing.T, p *primary, s *answers) {
		time.Sleep(p.trust.period)
		hung := make(chan error, 10) // for as many as would ask, each for itself
		s.will(func(ctx context.Context) (net.Conn, error) {
			time.Sleep(5 * time.Second) // as go-redis reads, whatever the context
			hung <- ctx.Err()
			return nil, ctx.Err()
		})
		before := s.asked.Load()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
			_, err := p.dial(ctx, "tcp", sentinelAddr)
			require.ErrorIs(t, err, errUnconfirmed)
			cancel()
		}
		require.Equal(t, before+1, s.asked.Load())
		s.name("b")
		err := <-hung
		require.ErrorIs(t, err, errSlow)
		require.False(t, errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
		synctest.Wait()
		conn, err := p.dial(t.Context(), "tcp", sentinelAddr)
		require.NoError(t, err)
		require.Equal(t, "b", peerOf(conn))
	})
}

// A question's connection is one caller's, or nobody's: then it is closed. Others dial, or ask again if they cannot.
func TestAQuestionsConnectionIsOneCallers(t *testing.T) {
	watched(t, func(t *testing.T, p *primary, s *answers) {
		p.straight = func(net.Conn) dial { return nil } // only the application can dial
		var open atomic.Int32
		s.will(func(context.Context) (net.Conn, error) {
			time.Sleep(time.Second)
			open.Add(1)
			return countedConn{connTo{stillborn{io.EOF}, "a"}, &open}, nil
		})
		time.Sleep(p.trust.period)
		var all errgroup.Group
		for range 5 {
			all.Go(func() error {
				conn, err := p.dial(t.Context(), "tcp", sentinelAddr)
				if err == nil {
					err = conn.Close()
				}
				return err
			})
		}
		require.NoError(t, all.Wait())
		require.Zero(t, open.Load())
		time.Sleep(p.trust.period)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := p.dial(ctx, "tcp", sentinelAddr)
		require.ErrorIs(t, err, errUnconfirmed)
		time.Sleep(time.Minute)
		require.Zero(t, open.Load())
	})
}

// countedConn is a connection that counts down when it is closed.
type countedConn struct {
	net.Conn
	open *atomic.Int32
}

func (c countedConn) Close() error {
	c.open.Add(-1)
	return nil
}

// defect F2: when neither a Sentinel nor the primary answers, a replica that was promoted says so itself. One that was
// started anew also calls itself a master, but does not have what it had.
func TestAPromotedReplicaIsFoundWithoutASentinel(t *testing.T) {
	watched(t, func(t *testing.T, p *primary, s *answers) {
		var promoted atomic.Bool
		p.roleAt = func(_ context.Context, addr string, _ dial) (*primaryRole, error) {
			switch {
			case addr == "x" && promoted.Load():
				return master(120, nil), nil
			case addr == "x":
				return &primaryRole{}, nil
			}
			return master(0, nil), nil
		}
		p.heard(master(110, map[string]int64{"x": 100, "y": 100}), time.Now(), "a")
		s.will(func(ctx context.Context) (net.Conn, error) { // it hangs
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ask := func() ([]string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), question)
			defer cancel()
			return p.primaries(ctx)
		}
		promoted.Store(true)
		_, err := ask()
		require.Error(t, err, "the primary was heard a moment ago")
		promoted.Store(false)
		time.Sleep(time.Second)
		_, err = ask()
		require.Error(t, err)
		promoted.Store(true)
		now, err := ask()
		require.NoError(t, err)
		require.Equal(t, []string{"x"}, now)
		conn, err := p.dial(t.Context(), "tcp", sentinelAddr)
		require.NoError(t, err)
		require.Equal(t, "x", peerOf(conn))
	})
}

// A connection past the Sentinels is like theirs: with TLS if theirs has it, and none if nobody knows how it was made.
func TestAConnectionPastTheSentinelsIsLikeTheirs(t *testing.T) {
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	overTLS := tls.Client(stillborn{io.EOF}, secure)
	require.NotNil(t, again(&net.TCPConn{}, nil, time.Second))
	require.Nil(t, again(overTLS, nil, time.Second))
	require.Nil(t, again(stillborn{io.EOF}, nil, time.Second))
	require.NotNil(t, again(overTLS, secure, time.Second))
	require.Nil(t, again(&net.TCPConn{}, secure, time.Second))
	require.Nil(t, again(stillborn{io.EOF}, secure, time.Second))
}
