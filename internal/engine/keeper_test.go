package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client keeps so many grants: when another one becomes idle, the one that did so first goes.
func TestTheLongestUnusedIsLetGo(t *testing.T) {
	r := keeper{most: 3}
	idle := make([]*Grant, 5)
	for i := range idle {
		idle[i] = &Grant{id: fmt.Sprint(i), kept: &kept{}}
	}
	for i := range 3 {
		require.Nil(t, r.rests(idle[i]))
	}
	require.Nil(t, r.rests(idle[0])) // it was used, and is idle again
	require.Equal(t, "1", r.rests(idle[3]).id)
	require.Equal(t, "2", r.rests(idle[4]).id)
	require.Equal(t, "0", r.rests(idle[1]).id)
	require.False(t, r.isEmpty())
	for _, one := range idle {
		r.remove(one)
		r.remove(one)
	}
	require.True(t, r.isEmpty())
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
