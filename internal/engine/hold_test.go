package engine

import (
	"math"
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

// Hold ids are made of numbers and read back; those of other clients are none of ours.
func TestNumbersOfHoldIDs(t *testing.T) {
	e := &Engine{cfg: Config{ClientID: "client"}}
	for _, n := range []holdNumber{1, 35, 36, math.MaxUint64} {
		require.Equal(t, n, e.numberOf(e.idOf(n)))
	}
	require.Equal(t, "client:10", e.idOf(36))
	for _, id := range []string{"", "client", "client:", "client:!", "client2:1", "other:1", "client:1:n"} {
		require.Zero(t, e.numberOf(id), id)
	}
}
