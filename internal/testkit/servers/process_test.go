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
	for i := range 100 {
		fmt.Fprintln(&log, "line", i)
	}
	log.WriteString("a request: " + strings.Repeat("x", 100_000))
	said := strings.Split(tail([]byte(log.String())), "\n")
	require.Equal(t, "line 41", said[0])
	require.Equal(t, "line 99", said[58])
	require.True(t, strings.HasPrefix(said[59], "a request: x"))
	require.Less(t, len(said[59]), 1000)
	require.Equal(t, []string{""}, said[60:])
	require.Empty(t, tail(nil))
}
