package redisson_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Java's levels, as our Inspect sees them: field, count and lease.
func TestJavasLevels(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a := j.thread("a")
	owner := a.do("owner", "nested")
	require.Contains(t, owner, j.id+":")
	holder := func() rlock.Holder {
		t.Helper()
		info, err := g.lock("nested").Inspect(t.Context())
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		h := info.Holders[0]
		require.Equal(t, owner, h.ID)
		require.False(t, h.Mine)
		require.Positive(t, h.TTL)
		require.LessOrEqual(t, h.TTL, never)
		return h
	}
	for level := 1; level <= 3; level++ {
		a.do("lock", "nested")
		require.Equal(t, level, holder().Count)
	}
	require.Equal(t, "3", a.do("count", "nested"))
	entering := g.waiting("nested")
	for level := 2; level >= 1; level-- {
		a.do("unlock", "nested")
		require.Equal(t, level, holder().Count)
		g.busy("nested")
		require.Empty(t, entering, "two hold the lock")
	}
	a.do("unlock", "nested")
	o := g.arrives(entering)
	require.NoError(t, o.unlock())
	info, err := g.lock("nested").Inspect(t.Context())
	require.NoError(t, err)
	require.Empty(t, info.Holders)
}

// Our levels, as Java sees them: held by another until the last is unlocked.
func TestOurLevels(t *testing.T) {
	t.Parallel()
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	rdb, a, b := server.Client(t), j.thread("a"), j.thread("b")
	levels := []outcome{g.hold("nested")}
	for len(levels) < 3 {
		levels = append(levels, g.nested(levels[len(levels)-1].ctx, "nested"))
	}
	hold, err := g.lock("nested").Held(levels[0].ctx)
	require.NoError(t, err)
	require.Equal(t, 3, hold.Count)
	waiting := b.waiting("lock", "nested")
	for len(levels) > 0 {
		// The count that operators find is the number of levels, as it is for a Java holder.
		redistest.Eventually(t, limit, func() bool {
			return rdb.HGet(t.Context(), "nested", hold.ID).Val() == strconv.Itoa(len(levels))
		}, "the count follows")
		require.Equal(t, "true", a.do("locked", "nested"))
		require.Equal(t, "false", a.do("mine", "nested"))
		require.Equal(t, "0", a.do("count", "nested"))
		require.NotContains(t, a.do("ttl", "nested"), "-")
		require.Equal(t, "false", a.do("try", "nested", "0"))
		require.Contains(t, a.refused("unlock", "nested"), "IllegalMonitorStateException")
		require.Empty(t, waiting, "two hold the lock")
		require.NoError(t, levels[len(levels)-1].unlock())
		levels = levels[:len(levels)-1]
	}
	javaArrives(t, waiting)
	require.Equal(t, "1", b.do("count", "nested"))
	b.do("unlock", "nested")
	require.Equal(t, "false", a.do("locked", "nested"))
}
