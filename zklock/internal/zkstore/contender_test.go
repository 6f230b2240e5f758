package zkstore

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// What servers append is a number of ten characters at least, as Java's %010d.
func TestNumberOf(t *testing.T) {
	for name, want := range map[string]int32{
		"id:1.1f-lock-0000000000": 0, "id:1.1f-lock-2147483647": math.MaxInt32,
		"id:1.1f-lock--2147483648": math.MinInt32, "id:1.1f-lock--000000001": -1, "id:1.1f-lock--1000000000": -1e9,
		"_c_5d-lock-0000000007": 7, "5d__lock__0000000007": 7, "5d__lock__-2147483648": math.MinInt32,
		"5d__lock__-000000001": -1, "n_0000000003": 3, "0000000001": 1,
	} {
		got, ok := numberOf(name)
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"", "config", "lock-000000001", "a-123456789", "0000000001x", "-", "--"} {
		_, ok := numberOf(name)
		require.False(t, ok, name)
	}
}

// A contender whose number others may have, too, comes after all whose number is their own. (defect G70)
func TestSpentNumbersComeLast(t *testing.T) {
	var names []string
	for _, n := range []int32{0, 1, math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, -1} {
		require.Equal(t, len(names) > 2, spent(n), n)
		names = append(names, fmt.Sprintf("id:1.1f-lock-%010d", n))
	}
	mixed := []string{names[4], names[2], "config", names[6], names[0], names[5], names[3], names[1]}
	for i, own := range names {
		require.Equal(t, i > 2, standsNowhere("/r/a/"+own))
		q := queueOf(mixed, own)
		require.True(t, q.found)
		require.Equal(t, names[0], q.first)
		require.Equal(t, len(names), q.len)
		if i == 0 {
			require.Empty(t, q.before)
		} else {
			require.Equal(t, names[i-1], q.before)
		}
	}
	q := queueOf(mixed, "id:2.1f-lock-0000000000")
	require.False(t, q.found)
}

func TestIDOf(t *testing.T) {
	id, ours := idOf("5d:K12.1f-lock-0000000001")
	require.True(t, ours)
	require.Equal(t, "5d:K12", id)
	for _, theirs := range []string{"_c_5d-lock-0000000001", "x.y-lock-0000000001", ".1f-lock-0000000001", "config"} {
		id, ours := idOf(theirs)
		require.False(t, ours)
		require.Equal(t, theirs, id)
	}
}
