package pglock_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that locks in PostgreSQL links no client of Redis, and one that locks in Redis none of PostgreSQL.
func TestNoOtherStoreIsLinked(t *testing.T) {
	const module = "github.com/holdfast-go/holdfast/"
	for of, other := range map[string][]string{
		"pglock": {"go-redis", module + "lua", module + "rlock", module + "internal/redisstore", "internal/testkit"},
		"rlock":  {"jackc", module + "pglock"},
	} {
		out, err := exec.Command("go", "list", "-deps", module+of).Output()
		require.NoError(t, err)
		for dep := range strings.FieldsSeq(string(out)) {
			for _, part := range other {
				require.NotContains(t, dep, part, of)
			}
		}
	}
}
