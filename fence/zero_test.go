package fence_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fence"
)

// A guard that nobody made, and an argument that is missing, are refused before anything is asked (defect G8).
func TestGuardsThatNobodyMade(t *testing.T) {
	work := func(*sql.Tx) error { panic("it is guarded") }
	for name, g := range map[string]*fence.SQL{"nil": nil, "zero": new(fence.SQL)} {
		require.ErrorContains(t, g.Check(t.Context(), new(sql.Tx), "x", 1), "must come from NewSQL", name)
		require.ErrorContains(t, g.Tx(t.Context(), new(sql.DB), "x", 1, work), "must come from NewSQL", name)
		require.Empty(t, g.Schema(), name)
	}
	for name, g := range map[string]*fence.Redis{"nil": nil, "zero": new(fence.Redis)} {
		_, err := g.Do(t.Context(), "k", 1, "GET")
		require.ErrorContains(t, err, "must come from NewRedis", name)
	}
	g, err := fence.NewSQL(fence.SQLite, "fences")
	require.NoError(t, err)
	require.ErrorContains(t, g.Check(t.Context(), nil, "x", 1), "tx must not be nil")
	require.ErrorContains(t, g.Tx(t.Context(), nil, "x", 1, work), "db must not be nil")
	require.ErrorContains(t, g.Tx(t.Context(), new(sql.DB), "x", 1, nil), "fn must not be nil")
	var none context.Context
	require.ErrorContains(t, g.Check(none, new(sql.Tx), "x", 1), "ctx must not be nil")
	require.ErrorContains(t, g.Tx(none, new(sql.DB), "x", 1, work), "ctx must not be nil")
}
