//go:build linux

package distance

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/redisd"
)

func TestWhatARelayAddsIsMeasured(t *testing.T) {
	const distance = 20 * time.Millisecond
	s, err := redisd.Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r := open(t, distance, s.Addr())
	got, err := Measure(s.Addr(), r.Addrs()[0], 5)
	require.NoError(t, err)
	require.Greater(t, got.P50, distance/2, "less what Redis itself takes, which here may be any time")
	require.GreaterOrEqual(t, got.P99, got.P50)
	_, err = Measure(s.Addr(), served(t, func(c net.Conn) { _, _ = c.Write([]byte("-ERR no")) }), 1)
	require.Error(t, err, "what answers is no Redis")
}

func TestDistancesHaveNames(t *testing.T) {
	require.Equal(t, "loopback", Name(0))
	require.Equal(t, "0.3 ms", Name(300*time.Microsecond))
	require.Equal(t, "20 ms", Name(20*time.Millisecond))
}
