package lock_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock on another store must not link Redis: the vocabulary, the engine's interfaces and the internals of a handle
// import no database.
func TestNoDatabaseIsImported(t *testing.T) {
	const module = "github.com/holdfast-go/holdfast/"
	for _, of := range []string{"lock", "internal/handle", "internal/vocabulary"} {
		out, err := exec.Command("go", "list", "-deps", module+of).Output()
		require.NoError(t, err)
		for dep := range strings.FieldsSeq(string(out)) {
			require.NotContains(t, dep, "go-redis", of)
			for _, redis := range []string{
				"lua", "rlock", "internal/redisstore/links", "internal/redisstore/pipeline", "internal/redisstore/wake", "internal/redisstore",
				"internal/redisclient",
			} {
				require.NotEqual(t, module+redis, dep, of)
			}
		}
	}
}
