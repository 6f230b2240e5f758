package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// Interleaving 7: what is unknown about an id goes back to its first request, and ends with its last.
func TestDoubtSpansAllRequests(t *testing.T) {
	var d doubt
	require.False(t, d.any)
	d.add(5*s, 1000)
	require.Equal(t, doubt{since: 5 * s, notAfter: 1000, any: true}, d)
	d.add(7*s, 3000)
	d.add(9*s, 2000)
	require.Equal(t, doubt{since: 5 * s, notAfter: 3000, any: true}, d)
}

// No two ids of a client are the same, and they are the client's.
func TestIDs(t *testing.T) {
	e := &Engine{cfg: Config{ClientID: "client"}}
	e.nonce.Store(34)
	require.Equal(t, []string{"client:z", "client:10"}, []string{e.newID(), e.newID()})
}
