package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client keeps so many grants: when another one becomes idle, the longest unused goes.
func TestTheLongestUnusedIsLetGo(t *testing.T) {
	r := keeper{most: 3}
	idle := make([]*Grant, 5)
	for i := range idle {
		idle[i] = &Grant{id: fmt.Sprint(i), kept: &kept{}}
	}
	for i := range 3 {
		require.Nil(t, r.add(idle[i]))
	}
	r.remove(idle[0]) // it is used, and idle again
	r.remove(idle[0])
	require.Nil(t, r.add(idle[0]))
	require.Equal(t, "1", r.add(idle[3]).id)
	require.Equal(t, "2", r.add(idle[4]).id)
	require.Equal(t, 3, r.idles())
	for _, one := range idle {
		r.remove(one)
	}
	require.Zero(t, r.idles())
}

// A name that others want is not kept for a while, for longer each time, and as at first when it was left alone.
func TestANameThatOthersWantIsNotKept(t *testing.T) {
	var r keeper
	var now time.Duration
	pause := func() time.Duration {
		r.backOff("k", now)
		r.backOff("k", now) // once for each time
		began := now
		for !r.may("k", now) {
			now += time.Millisecond
		}
		require.True(t, r.may("another", began))
		return now - began
	}
	for _, most := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		require.Equal(t, most*time.Millisecond, pause())
	}
	now += 31 * time.Second
	require.Equal(t, 100*time.Millisecond, pause())

	for i := range 2 * wantedMost {
		r.backOff(fmt.Sprint(i), now)
		require.LessOrEqual(t, len(r.wanted), wantedMost)
	}
	require.False(t, r.may(fmt.Sprint(2*wantedMost-1), now), "the last is known")
}
