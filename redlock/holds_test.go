package redlock

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
)

// The first attempt of a call has the call's id at the nodes, and each later one another. When more attempts have
// failed than are remembered, none counts as the first.
func TestIDsOfAttempts(t *testing.T) {
	s := &holds{byID: make(map[string]*hold), tried: make(map[string]struct{})}
	of := func(id string, ticket int64) string {
		return s.nodeID(&redisstore.Ask{Ask: store.Ask{ID: id, Ticket: ticket}})
	}
	require.Equal(t, "a", of("a", 0))
	require.Equal(t, "a.1", of("a", 1), "an attempt that was answered")
	s.again("a")
	require.Equal(t, "a.2", of("a", 0))
	s.add(&hold{attempt: attempt{id: "a", nodeID: "a.2"}})
	require.Equal(t, "a", s.idOf("a.2"))
	require.Equal(t, "b", of("b", 0))
	for i := range maxTried {
		s.again(fmt.Sprint("failed", i))
	}
	require.Equal(t, "c", of("c", 0), "as many as are remembered")
	s.again("d")
	require.Equal(t, "c.3", of("c", 0))
	s.again("e")
	require.Equal(t, "c.4", of("c", 0))
}
