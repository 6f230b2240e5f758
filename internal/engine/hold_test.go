package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// No two ids of a client are the same, and they are the client's.
func TestIDs(t *testing.T) {
	e := &Engine{cfg: Config{ClientID: "client"}}
	e.nonce.Store(34)
	require.Equal(t, []string{"client:z", "client:10"}, []string{e.newID(), e.newID()})
}
