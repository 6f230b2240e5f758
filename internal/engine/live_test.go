package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The tenth client of a server is reported, once, however many follow, and again only after all of them were closed.
// Clients of other servers do not count. (defect G35)
func TestManyClientsOfOneServerAreReportedOnce(t *testing.T) {
	c := liveClients{at: map[string]*clientsOfServer{}}
	fill := func() {
		for range many - 1 {
			require.False(t, c.enter("a"))
			require.False(t, c.enter(""), "of several servers")
		}
		require.False(t, c.enter("b"))
		require.True(t, c.enter("a"))
		require.False(t, c.enter("a"))
	}
	fill()
	c.leave("a")
	require.False(t, c.enter("a"), "this was said")
	for range many + 1 {
		c.leave("a")
	}
	c.leave("b")
	c.leave("")
	require.Empty(t, c.at, "nothing is remembered of servers without clients")
	fill()
}
