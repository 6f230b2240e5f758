package redistest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that is killed finds its port free when it is restarted, though others were started meanwhile.
func TestThePortOfAServerThatIsDownIsGivenToNobody(t *testing.T) {
	server := Start(t)
	server.Kill()
	require.NoError(t, probe(server.Port()), "nobody serves it")
	_, err := claimPort(server.Port(), false)
	require.Error(t, err)
	server.Restart()
}

func TestAPortThatIsTakenIsNotClaimed(t *testing.T) {
	port, mine, err := freePort(false)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", address(port))
	require.NoError(t, err)
	require.NoError(t, mine.release())
	_, err = claimPort(port, false)
	require.Error(t, err)
	require.NoError(t, listener.Close())
	mine, err = claimPort(port, false)
	require.NoError(t, err, "nothing is kept of a claim that failed")
	require.NoError(t, mine.release())
}
