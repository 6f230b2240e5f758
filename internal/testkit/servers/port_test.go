package servers

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPortThatIsClaimedIsGivenToNobody(t *testing.T) {
	port, err := ClaimPort(0)
	require.NoError(t, err)
	require.NoError(t, probe(port.Number), "nobody serves it")
	_, err = claim(port.Number, 0)
	require.Error(t, err)
	require.NoError(t, port.Release())
}

func TestAPortIsNotGivenAwayWhileNobodyListensThere(t *testing.T) {
	port, listener, err := Listen()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, err = claim(port.Number, 0)
	require.Error(t, err)
	listener, err = port.Listen()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	require.NoError(t, port.Release())
}

func TestAPortThatIsTakenIsNotClaimed(t *testing.T) {
	port, err := ClaimPort(0)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", port.Addr())
	require.NoError(t, err)
	require.NoError(t, port.Release())
	_, err = claim(port.Number, 0)
	require.Error(t, err)
	_, err = claim(port.Number-1, 1)
	require.Error(t, err)
	require.NoError(t, listener.Close())
	port, err = claim(port.Number, 0)
	require.NoError(t, err, "nothing is kept of a claim that failed")
	require.NoError(t, port.Release())
}
