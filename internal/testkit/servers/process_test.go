package servers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line that is as long as a whole log does not hide those before it, and the last lines are those that stay.
func TestTail(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 300 {
		fmt.Fprintln(&log, "line", i)
	}
	log.WriteString("a request: " + strings.Repeat("x", 100_000))
	said := strings.Split(tail([]byte(log.String())), "\n")
	require.Equal(t, "line 101", said[0])
	require.Equal(t, "line 299", said[198])
	require.True(t, strings.HasPrefix(said[199], "a request: x"))
	require.Less(t, len(said[199]), 1000)
	require.Equal(t, []string{""}, said[200:])
	require.Empty(t, tail(nil))
}
