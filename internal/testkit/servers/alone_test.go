package servers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

func TestAFolderEndsWithWhatRanAlone(t *testing.T) {
	var dir string
	require.True(t, servers.Alone(func(t testing.TB) {
		dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}))
	require.NotEmpty(t, dir)
	require.NoDirExists(t, dir)
}

func TestWhatIsSkippedAloneHasFailed(t *testing.T) {
	for _, end := range []func(testing.TB){
		func(t testing.TB) { t.Skip("not here") },
		func(t testing.TB) { t.Fatal("no") },
	} {
		went := true
		require.False(t, servers.Alone(func(t testing.TB) {
			end(t)
			went = false
		}))
		require.True(t, went, "it ends there")
	}
}
