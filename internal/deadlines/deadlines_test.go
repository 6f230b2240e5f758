package deadlines_test

import (
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/deadlines"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
)

func TestAConnectionWithDeadlinesStaysAsItIs(t *testing.T) {
	one, other := net.Pipe()
	defer func() { _, _ = one.Close(), other.Close() }()
	require.Same(t, one, deadlines.Conn(one))
}

// This is defect G52.
func TestADeadlineClosesAConnectionThatKnowsNone(t *testing.T) {
	for name, set := range map[string]func(c net.Conn, at time.Time) error{
		"both": net.Conn.SetDeadline, "read": net.Conn.SetReadDeadline, "write": net.Conn.SetWriteDeadline,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, other := net.Pipe()
				defer func() { _ = other.Close() }()
				c := deadlines.Conn(netfault.Tunnel{Conn: one})
				require.NoError(t, set(c, time.Now().Add(time.Minute)))
				require.NoError(t, set(c, time.Now().Add(time.Second)), "the last one counts")
				began := time.Now()
				_, err := c.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				require.Equal(t, time.Second, time.Since(began))
				_, err = c.Write(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded, "it is closed")
				require.NoError(t, set(c, time.Time{}))
				require.NoError(t, c.Close())
				require.ErrorIs(t, set(c, time.Time{}), net.ErrClosed)
			})
		})
	}
}

func TestADeadlineThatIsTakenBackClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := net.Pipe()
		c := deadlines.Conn(netfault.Tunnel{Conn: one})
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Second)))
		require.NoError(t, c.SetDeadline(time.Time{}))
		time.Sleep(time.Minute)
		go func() { _, _ = other.Write([]byte("x")) }()
		_, err := c.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, other.Close())
	})
}
