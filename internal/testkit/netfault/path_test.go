package netfault_test

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds waits for what must happen.
const limit = 30 * time.Second

// echo starts a server that sends back what it receives.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

func dial(t *testing.T, path *netfault.Path, addr string) net.Conn {
	t.Helper()
	c, err := path.Dial(context.Background(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answers reports whether the connection gets an answer until then.
func answers(t *testing.T, c net.Conn, within time.Duration) error {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(within)))
	if _, err := c.Write([]byte("ping")); err != nil {
		return err
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	require.Equal(t, "ping", string(got))
	return nil
}

func TestForgottenConnectionsAreSilentAndNewOnesWork(t *testing.T) {
	t.Parallel()
	var path netfault.Path
	addr := echo(t)
	old := dial(t, &path, addr)
	require.NoError(t, answers(t, old, limit))
	require.Equal(t, 1, path.Forget())
	require.ErrorIs(t, answers(t, old, 20*time.Millisecond), os.ErrDeadlineExceeded)
	require.NoError(t, answers(t, dial(t, &path, addr), limit))
	require.ErrorIs(t, answers(t, old, 20*time.Millisecond), os.ErrDeadlineExceeded, "for good")
	require.Equal(t, 2, path.Dialled())
	require.Equal(t, 2, path.Open())
	require.NoError(t, old.Close())
	require.Equal(t, 1, path.Open())
}

func TestASilentPathAcceptsAndNeverAnswers(t *testing.T) {
	t.Parallel()
	var path netfault.Path
	addr := echo(t)
	old := dial(t, &path, addr)
	path.Silence(true)
	newer := dial(t, &path, addr)
	for _, c := range []net.Conn{old, newer} {
		require.ErrorIs(t, answers(t, c, 20*time.Millisecond), os.ErrDeadlineExceeded)
	}
	path.Silence(false)
	for _, c := range []net.Conn{old, newer} {
		require.Error(t, answers(t, c, 20*time.Millisecond), "what lost something is cut")
	}
	require.NoError(t, answers(t, dial(t, &path, addr), limit))
}

func TestARefusalLeavesOpenConnectionsAlone(t *testing.T) {
	t.Parallel()
	var path netfault.Path
	addr := echo(t)
	old := dial(t, &path, addr)
	path.Refuse(true)
	_, err := path.Dial(context.Background(), "tcp", addr)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, answers(t, old, limit))
	require.Equal(t, 1, path.Cut())
	require.Error(t, answers(t, old, limit))
	path.Refuse(false)
	require.NoError(t, answers(t, dial(t, &path, addr), limit))
}

// A path that is full has room for as many connections as there are.
func TestAFullPathHasRoomForOneThatIsClosed(t *testing.T) {
	t.Parallel()
	var path netfault.Path
	addr := echo(t)
	old := dial(t, &path, addr)
	path.Full(true)
	_, err := path.Dial(context.Background(), "tcp", addr)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, answers(t, old, limit))
	require.NoError(t, old.Close())
	require.NoError(t, answers(t, dial(t, &path, addr), limit))
	_, err = path.Dial(context.Background(), "tcp", addr)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	path.Full(false)
	require.NoError(t, answers(t, dial(t, &path, addr), limit))
}

// A reader that waits on a silent connection returns when its deadline is moved, and when the connection is closed.
func TestAHangingPathMakesNoConnectionUntilItsEnd(t *testing.T) {
	t.Parallel()
	path, addr := new(netfault.Path), echo(t)
	old := dial(t, path, addr)
	path.Hang(true)
	path.Hang(true)
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := path.Dial(short, "tcp", addr)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, answers(t, old, limit))
	made := make(chan error, 1)
	go func() {
		c, err := path.Dial(context.Background(), "tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		made <- err
	}()
	path.Hang(false)
	path.Hang(false)
	require.NoError(t, <-made)
	require.NoError(t, answers(t, dial(t, path, addr), limit))
}

func TestAReaderOfASilentConnectionCanLeave(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(net.Conn) error{
		"its deadline": func(c net.Conn) error { return c.SetReadDeadline(time.Now()) },
		"its end":      net.Conn.Close,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var path netfault.Path
			c := dial(t, &path, echo(t))
			path.Forget()
			left := make(chan error, 1)
			go func() {
				_, err := c.Read(make([]byte, 1))
				left <- err
			}()
			require.NoError(t, leave(c))
			select {
			case err := <-left:
				require.Error(t, err)
			case <-time.After(limit):
				t.Fatal("the reader should have left")
			}
		})
	}
}

func TestASlowPathKeepsDeadlines(t *testing.T) {
	t.Parallel()
	var path netfault.Path
	addr := echo(t)
	c := dial(t, &path, addr)
	path.Slow(time.Hour)
	require.ErrorIs(t, answers(t, c, 20*time.Millisecond), os.ErrDeadlineExceeded)
	path.Slow(time.Millisecond)
	require.NoError(t, answers(t, dial(t, &path, addr), limit))
}
