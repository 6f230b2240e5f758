package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// A token that cannot be one is called a token (defect G12: it was called a time).
func TestATokenOutOfRangeIsCalledAToken(t *testing.T) {
	_, err := luacall.Guard(luacall.GuardArgs{Key: "k", Token: "t", TTL: 1, Command: "GET", Fence: 1 << 54}).
		Run(t.Context(), nil)
	require.ErrorContains(t, err, "lua: guard: a token of 18014398509481984 is not between 1 and ")
}
