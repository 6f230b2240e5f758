package zklock_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that locks in ZooKeeper links no client of another store.
func TestNoOtherStoreIsLinked(t *testing.T) {
	const module = "github.com/holdfast-go/holdfast/"
	out, err := exec.Command("go", "list", "-deps", module+"zklock").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), module+"zklock/internal/wire", "it is the list that is meant")
	for dep := range strings.FieldsSeq(string(out)) {
		for _, other := range []string{
			"go-redis", "jackc", "go.etcd.io", "go-zookeeper", module + "lua", module + "rlock", module + "pglock", module + "etcdlock", module + "internal/redisstore",
			"internal/testkit",
		} {
			require.NotContains(t, dep, other)
		}
	}
}
