package redisson_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// Fencing tokens of one name grow from each hold to the next, whichever side took it and whichever
// began. Java mints one for every level; ours has one a hold.
func TestFencingTokensGrowAcrossSides(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{FenceTTL: -1})
	a := j.thread("a")
	last := int64(0)
	grows := func(side string, token int64) {
		t.Helper()
		require.Greater(t, token, last, "%s's token", side)
		last = token
		require.Equal(t, strconv.FormatInt(token, 10), a.do("token", "fenced"), "what Java reads")
	}
	javas := func(answer string) int64 {
		t.Helper()
		token, err := strconv.ParseInt(answer, 10, 64)
		require.NoError(t, err)
		return token
	}
	ours := func(o outcome) int64 {
		t.Helper()
		hold, err := g.lock("fenced").Held(o.ctx)
		require.NoError(t, err)
		return hold.Fence
	}
	for round := range 10 {
		if round > 0 { // Java began
			o := g.hold("fenced")
			grows("Go", ours(o))
			inner := g.nested(o.ctx, "fenced")
			require.Equal(t, last, ours(inner), "a level has its hold's token")
			// Java waits for it, and gets a later token.
			waiting := a.waiting("fencedwait", "fenced")
			require.NoError(t, inner.unlock())
			require.Empty(t, waiting)
			require.NoError(t, o.unlock())
			grows("Java", javas(javaArrives(t, waiting)))
		} else {
			grows("Java", javas(a.do("fencedlock", "fenced")))
		}
		grows("Java", javas(a.do("fencedlock", "fenced")))
		info, err := g.lock("fenced").Inspect(t.Context())
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		require.Equal(t, last, info.Holders[0].Fence)
		require.Equal(t, 2, info.Holders[0].Count)
		entering := g.waiting("fenced")
		a.do("fencedunlock", "fenced")
		require.Empty(t, entering)
		a.do("fencedunlock", "fenced")
		o := g.arrives(entering)
		grows("Go", ours(o))
		require.NoError(t, o.unlock())
	}
}

// Where this side began, Java goes on; also in the method that waits for the token itself, by callbacks.
func TestFencingTokensThatGoBegan(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{FenceTTL: -1})
	a := j.thread("a")
	for i := range 5 {
		name := fmt.Sprint("begun", i) // another each time, so that it is Java's subscription that is seen
		o := g.hold(name)
		hold, err := g.lock(name).Held(o.ctx)
		require.NoError(t, err)
		waiting := a.start("fencedlock", name)
		g.listened(name)
		require.Empty(t, waiting, "two hold the lock")
		require.NoError(t, o.unlock())
		token, err := strconv.ParseInt(javaArrives(t, waiting), 10, 64)
		require.NoError(t, err)
		require.Greater(t, token, hold.Fence)
	}
}
