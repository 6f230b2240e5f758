package pglock_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that locks in PostgreSQL links no client of another store, and one that locks in Redis none either.
func TestNoOtherStoreIsLinked(t *testing.T) {
	const module = "github.com/holdfast-go/holdfast/"
	for of, other := range map[string][]string{
		"pglock": {"go-redis", module + "lua", module + "rlock", module + "internal/redisstore", "go.etcd.io", "internal/testkit"},
		"rlock":  {"jackc", module + "pglock", "go.etcd.io"},
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
