package javalib

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatALoadSaysIsRead(t *testing.T) {
	o, err := parse("1000 700 40 55 2,1 30,10,20 33,13,23")
	require.NoError(t, err)
	require.EqualValues(t, 700, o.CPU)
	require.EqualValues(t, 55, o.Longest)
	require.EqualValues(t, 1000, o.Elapsed)
	require.EqualValues(t, 40, o.Absence)
	require.Equal(t, []int{2, 1}, o.Turns)
	require.Equal(t, 3, o.Pairs)
	require.Equal(t, []time.Duration{10, 20, 30}, o.Waits)
	require.Equal(t, []time.Duration{13, 23, 33}, o.Both)
	for _, bad := range []string{"", "1 2", "1 2 3 4 5 6 x"} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}
