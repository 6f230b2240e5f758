package pgstore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Whatever another session sends to the channel: it is a message of ours, of which the name is the rest, or it is
// ignored. A hub takes either, and remembers no name that nobody here waits for.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"", "=", "=c:1 n", "+c:1 n", "=c:d:1 a b", "= ", "=:: ", "!c:1 n", "?c 1", "=c:1 \xff\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		kind, id, name := read(message)
		if kind == 0 {
			require.Empty(t, id+name)
			return
		}
		require.True(t, strings.HasPrefix(message, string(kind)+id), "%q", message)
		require.True(t, strings.HasSuffix(message, " "+name), "%q", message)
		var h hub
		h.init()
		h.message(store.ClientOf(id), name)
		h.announced(store.ClientOf(id), name)
		require.Empty(t, h.lines)
	})
}
