package redistest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoServerIsOneSentence(t *testing.T) {
	t.Setenv(serverVariable, "/nonexistent/redis-server")
	_, err := launch(config{})
	require.ErrorIs(t, err, errNoServer)
	require.ErrorContains(t, err, "install redis-server")
}

func TestNamedProgramIsUsed(t *testing.T) {
	path, err := program()
	require.NoError(t, err)
	t.Setenv("PATH", t.TempDir())
	t.Setenv(serverVariable, path)
	server := Start(t)
	require.NoError(t, server.Client(t).Ping(t.Context()).Err())
	_, err = os.Stat(server.Dir())
	require.NoError(t, err)
}

func TestStartFailureTellsWhatTheServerSaid(t *testing.T) {
	_, err := launch(config{args: []string{"--no-such-option", "1"}})
	require.Error(t, err)
	require.ErrorContains(t, err, "no-such-option")
}
