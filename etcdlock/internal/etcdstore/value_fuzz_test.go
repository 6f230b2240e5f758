package etcdstore

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Whatever stands in a key below a lock, in one of a note, or where the base of tokens is: what is not ours is said to be
// nobody's, and the base is a conflict unless it is a number above 0.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "id:1\n", "id:1\n{\"fence\":1,\"since\":2,\"text\":\"x\"}", "id:1\n{", "1700000000000000", "-1", "0", "1e3",
		"9223372036854775808", "\xff\n\xff",
	} {
		f.Add("lock/1f", seed)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		kv := &mvccpb.KeyValue{Key: []byte("lock/" + key), Value: []byte(value)}
		id, noted := idBelow("lock/", kv)
		if noted == nil {
			require.Equal(t, key, id, "the keys of etcd's own clients have no id in them")
		} else {
			require.Equal(t, value, valueOf(id, noted))
		}
		if n, ok := noteOf(noted); !ok {
			require.Zero(t, n)
		}
		base, err := baseOf(kv)
		if err == nil {
			require.Positive(t, base)
		} else {
			require.Zero(t, base)
		}
	})
}
