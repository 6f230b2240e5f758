package links

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A question to a Sentinel that has answered before, and is silent, is asked once more: go-redis is told to leave the
// Sentinel, at which it closes the connection that the first asking waits for. If nobody answered the last question,
// go-redis asks by new connections anyway (defect G3).
func TestASilentSentinelIsLeftInTheMiddleOfAQuestion(t *testing.T) {
	watched(t, func(t *testing.T, p *primary, s *answers) {
		time.Sleep(p.trust.period)
		left := make(chan struct{})
		s.will(func(ctx context.Context) (net.Conn, error) {
			if ctx.Err() != nil {
				require.ErrorIs(t, ctx.Err(), errSlow, "go-redis would stay with the Sentinel otherwise")
				close(left)
				return nil, ctx.Err()
			}
			select {
			case <-left:
				return connTo{stillborn{io.EOF}, at("b")}, nil
			default:
				<-left // as go-redis reads from a connection until it is closed
				return nil, ctx.Err()
			}
		})
		before, began := s.asked.Load(), time.Now()
		conn, err := p.dial(t.Context(), "tcp", sentinelAddr)
		require.NoError(t, err)
		require.Equal(t, "b", peerOf(conn))
		require.LessOrEqual(t, time.Since(began), greetingFor(followed.Command)/2)
		require.Equal(t, before+3, s.asked.Load())
		synctest.Wait()

		p.trust.confirmed = time.Time{}
		s.will(nobody)
		_, err = p.dial(t.Context(), "tcp", sentinelAddr)
		require.ErrorIs(t, err, errNobody)
		synctest.Wait()
		s.will(func(context.Context) (net.Conn, error) {
			time.Sleep(time.Minute)
			return nil, errNobody
		})
		before = s.asked.Load()
		_, err = p.dial(t.Context(), "tcp", sentinelAddr)
		require.ErrorIs(t, err, errNobody)
		require.Equal(t, before+1, s.asked.Load())
	})
}

// The answer of a question comes just before go-redis would be told to leave the Sentinel: it stays with it.
func TestASentinelThatHasAnsweredIsNotLeft(t *testing.T) {
	watched(t, func(t *testing.T, p *primary, s *answers) {
		time.Sleep(p.trust.period)
		busy := make(chan struct{})
		s.will(func(ctx context.Context) (net.Conn, error) {
			if ctx.Err() == nil {
				time.Sleep(2 * silence) // as go-redis asks all of them, under its mutex
				defer time.AfterFunc(time.Second, func() { close(busy) })
				return connTo{stillborn{io.EOF}, at("b")}, nil
			}
			<-busy
			require.NotErrorIs(t, ctx.Err(), errSlow, "go-redis would leave the Sentinel")
			return nil, ctx.Err()
		})
		_, err := p.dial(t.Context(), "tcp", sentinelAddr)
		require.NoError(t, err)
		time.Sleep(time.Minute)
	})
}

// A Sentinel names the primary that is known, and it cannot be dialled, as where the process has no place for one more
// connection. It is trusted all the same: otherwise the connections that stand would be closed (defect G2). Whom nobody
// reached is not trusted more than before, nor is one from which there was no answer in time.
func TestAPrimaryThatIsNamedAndRefusesIsTrusted(t *testing.T) {
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	for what, c := range map[string]struct {
		to      string
		failure error
		trusted bool
	}{
		"the same":         {"a", refused, true},
		"the same, hangs":  {"a", os.ErrDeadlineExceeded, false},
		"the same, slow":   {"a", errSlow, false},
		"another one":      {"b", refused, false},
		"nobody knows who": {"", refused, false},
	} {
		t.Run(what, func(t *testing.T) {
			watched(t, func(t *testing.T, p *primary, s *answers) {
				s.will(func(context.Context) (net.Conn, error) {
					failed := &net.OpError{Op: "dial", Net: "tcp", Err: c.failure}
					if c.to != "" {
						failed.Addr = at(c.to)
					}
					return nil, failed
				})
				time.Sleep(p.trust.period)
				require.True(t, p.lapsed(time.Now()))
				p.straight, p.direct = func(net.Conn) dial { return nil }, nil // only the application can dial
				before, dial := s.asked.Load(), func() error {
					_, err := p.dial(t.Context(), "tcp", sentinelAddr)
					return err
				}
				if c.failure != refused { // then it is asked for again, until a call's own end
					dial = func() error { return (<-p.sentinels.inquire()).Err }
				}
				require.ErrorIs(t, dial(), c.failure)
				require.Equal(t, before+1, s.asked.Load())
				require.Equal(t, c.trusted, !p.lapsed(time.Now()))
			})
		})
	}
}

// A known Sentinel's question is short, so that one whose server hangs is soon asked again. A call that has more time
// does not fail by that (defect G3).
func TestACallOutlivesAQuestionThatWasTooShort(t *testing.T) {
	watched(t, func(t *testing.T, p *primary, s *answers) {
		time.Sleep(p.trust.period)
		short := 3
		s.will(func(ctx context.Context) (net.Conn, error) {
			if short--; short >= 0 {
				<-ctx.Done()
				return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: at("a"), Err: ctx.Err()}
			}
			return connTo{stillborn{io.EOF}, at("b")}, nil
		})
		conn, err := p.dial(t.Context(), "tcp", sentinelAddr)
		require.NoError(t, err)
		require.Equal(t, "b", peerOf(conn))
		time.Sleep(p.trust.period)
		short = 100
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = p.dial(ctx, "tcp", sentinelAddr)
		require.Error(t, err)
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	})
}

// What go-redis waits for inside a question does not hold up the end, and no goroutine of the question outlives it. A
// connection that comes later is closed (defect G5).
func TestAQuestionThatHangsEndsWithItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, hangs := make(chan struct{}), make(chan struct{})
		p := newPrimary(&redis.Options{
			ReadTimeout: 5 * time.Second,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				<-hangs // whatever the context
				return endedConn{stillborn{io.EOF}, closed}, nil
			},
		}, followed, func() {})
		got := make(chan error, 1)
		go func() {
			_, err := p.dial(t.Context(), "tcp", sentinelAddr)
			got <- err
		}()
		time.Sleep(time.Second)
		began := time.Now()
		p.sentinels.end()
		require.Zero(t, time.Since(began))
		require.True(t, errors.Is(<-got, net.ErrClosed))
		close(hangs)
		<-closed
	})
}

// endedConn tells when it is closed.
type endedConn struct {
	net.Conn
	closed chan struct{}
}

func (c endedConn) Close() error {
	close(c.closed)
	return nil
}
