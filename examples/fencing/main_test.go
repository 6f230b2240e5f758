package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fence"
)

// The whole program, which checks itself.
func TestFencing(t *testing.T) { require.NoError(t, run(t.Context())) }

// The storage compares tokens alone, and knows no lock: it accepts equal and greater ones and refuses older ones, with
// a write as well as with a read that precedes one.
func TestTheStoreRefusesOlderTokens(t *testing.T) {
	ctx := t.Context()
	s, err := openStore(ctx, filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.close()) }()
	const (
		old   = int64(1_795_000_000_000_000)
		newer = old + 1
	)
	require.NoError(t, s.open(ctx, "a", 10))
	require.NoError(t, s.write(ctx, "a", 11, old))
	require.NoError(t, s.write(ctx, "a", 12, old), "a holder may write more than once")
	balance, err := s.read(ctx, "a", newer)
	require.NoError(t, err)
	require.Equal(t, int64(12), balance)
	require.ErrorIs(t, s.write(ctx, "a", 99, old), fence.ErrStale, "the newer one has read")
	_, err = s.read(ctx, "a", old)
	require.ErrorIs(t, err, fence.ErrStale)
	require.NoError(t, s.write(ctx, "a", 13, newer))
	balance, err = s.read(ctx, "a", newer)
	require.NoError(t, err)
	require.Equal(t, int64(13), balance)
}
