package zkstore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func stored(root string) *Store {
	return New(Config{Servers: []string{"a:1"}, Root: root, Own: "/holdfast"})
}

func TestPathOf(t *testing.T) {
	for name, want := range map[string]string{
		"order:1001": "/r/order:1001", "a/b": "/r/a/b", "": "/r/%", "/a": "/r/%/a", "a//b": "/r/a/%/b", "a/": "/r/a/%",
		".": "/r/%2E", "a/..": "/r/a/%2E%2E", "...": "/r/...", "100%": "/r/100%25", "\U0001F512": "/r/%F0%9F%94%92",
		"\x01é\x7f": "/r/%01é%7F", "\xff": "/r/%FF", "\ufffd": "/r/%EF%BF%BD", "x1234567890": "/r/x1234567890",
		"a/x1234567890": "/r/a/x123456789%30", "a/x123456789": "/r/a/x123456789",
		"a/lock--123456789": "/r/a/lock--12345678%39",
	} {
		require.Equal(t, want, stored("/r").pathOf(name), "%q", name)
	}
	require.Equal(t, "/%7Aookeeper/a", stored("/").pathOf("zookeeper/a"))
	require.Equal(t, "/zookeepers", stored("/").pathOf("zookeepers"))
}

// Of every name there is one path, which ZooKeeper accepts, whose components below the first are no contenders', and
// from which the name is told.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"a/b", "\U0001F512", "%", "a/x-lock-0000000001", "..//", "\xff\xed\xa0\x80", "zookeeper"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		path := stored("/").pathOf(name)
		_, refused := RefusedIn(path)
		require.False(t, refused, "%q", path)
		var parts []string
		for i, node := range strings.Split(path[1:], "/") {
			require.NotContains(t, []string{"", ".", ".."}, node)
			_, contends := numberOf(node)
			require.False(t, i > 0 && contends, "%q", node)
			part, ok := decodePart(node)
			require.True(t, ok)
			parts = append(parts, part)
		}
		require.Equal(t, name, strings.Join(parts, "/"))
		require.False(t, strings.HasPrefix(path+"/", "/zookeeper/"))
	})
}
