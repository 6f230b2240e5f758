package engine

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The engine, the queue and what they ask of a store know no database: another one can stand beside Redis without a
// change to them, and without go-redis in the program.
func TestNoDatabaseIsImported(t *testing.T) {
	const module = "github.com/holdfast-go/holdfast/"
	for _, of := range []string{
		"internal/engine", "internal/localqueue", "internal/hold", "internal/request", "internal/store", "internal/memstore",
	} {
		out, err := exec.Command("go", "list", "-deps", module+of).Output()
		require.NoError(t, err)
		for dep := range strings.FieldsSeq(string(out)) {
			require.NotContains(t, dep, "go-redis", of)
			for _, redis := range []string{
				"lua", "internal/redisstore/links", "internal/redisstore/pipeline", "internal/redisstore/wake", "internal/redisstore",
			} {
				require.NotEqual(t, module+redis, dep, of)
			}
		}
	}
}
