package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

func TestAGrantIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	g := store.Grant{ID: "client:1", Fence: 1 << 60, Spare: 3, Next: 12, Made: 5, End: 6, Server: "a1"}
	read, ok := store.ParseGrant(g.Message())
	require.True(t, ok)
	require.Equal(t, g, read)
}

func TestOtherMessagesGrantNothing(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"", "0", "1", "1 c:1 9 3 12 5 6", "1 c:1 9 3 12 5 6 a1 7", "2 c:1 9 3 12 5 6 a1", "1  9 3 12 5 6 a1",
		"1 c:1 9 3 12 6 5 a1", "1 c:1 9 9 12 5 6 a1", "1 c:1 9 -3 12 5 6 a1", "1 c:1 x 3 12 5 6 a1",
		"1 c:1 999999 99999 12 5 6 a1", "1 c:1 9 3 12 5 6 ",
	} {
		_, ok := store.ParseGrant(message)
		require.False(t, ok, message)
	}
}
