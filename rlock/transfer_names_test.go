package rlock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect B21: a name is bytes, and a hold of any name can be exported and imported.
func TestExportedHoldOfAnyNameMoves(t *testing.T) {
	t.Parallel()
	a, b, prefix := transferPair(t)
	rdb := redistest.Shared(t).Client(t)
	for _, name := range []string{
		"plain", "a\x00b", "\xff\xfe", "caf\xe9", "cut short \xe2\x82", "\ufffd", "<x>&\u2028", `"quoted" \`,
	} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			key := prefix + name
			here, there := rlock.New(a, key), rlock.New(b, key)
			hold := timeLock(t, t.Context(), here)
			fence := timeHeld(t, hold.ctx, here).Fence
			token, err := here.Export(hold.ctx)
			require.NoError(t, err)
			ctx, unlock, err := there.Import(t.Context(), token)
			require.NoError(t, err)
			require.Equal(t, fence, timeHeld(t, ctx, there).Fence)
			require.NoError(t, unlock())
			timeGone(t, rdb, key)
		})
	}
}

// Two names that differ only in bytes that are not UTF-8 are two locks.
func TestTokenOfABinaryNameIsOfNoOther(t *testing.T) {
	t.Parallel()
	a, b, prefix := transferPair(t)
	hold := timeLock(t, t.Context(), rlock.New(a, prefix+"\xff"))
	token, err := rlock.New(a, prefix+"\xff").Export(hold.ctx)
	require.NoError(t, err)
	for _, other := range []string{"\xfe", "\ufffd", ""} {
		var bad *rlock.ArgumentError
		_, _, err = rlock.New(b, prefix+other).Import(t.Context(), token)
		require.ErrorAs(t, err, &bad, "%q", other)
		require.Equal(t, "token", bad.Name)
	}
	_, unlock, err := rlock.New(b, prefix+"\xff").Import(t.Context(), token)
	require.NoError(t, err)
	require.NoError(t, unlock())
}
