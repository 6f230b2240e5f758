package redisd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallsAreReadFromCommandstats(t *testing.T) {
	info := parseInfo("# Commandstats\r\n" +
		"cmdstat_evalsha:calls=12,usec=40,usec_per_call=3.33\r\n" +
		"cmdstat_config|resetstat:calls=1,usec=4\r\n" +
		"cmdstat_info:calls=7,usec=9\r\n")
	require.Equal(t, map[string]int64{"evalsha": 12, "config|resetstat": 1}, parseCalls(info),
		"what the asking itself costs is left out")
}

func TestCountsBetweenTwoReadings(t *testing.T) {
	before := Counts{Calls: map[string]int64{"set": 2, "get": 5}, CPU: time.Second}
	after := Counts{Calls: map[string]int64{"set": 6, "get": 5, "eval": 1}, CPU: 3 * time.Second}
	d := after.Since(before)
	require.Equal(t, map[string]int64{"set": 4, "eval": 1}, d.Calls)
	require.Equal(t, 2*time.Second, d.CPU)
	require.Equal(t, int64(5), d.All())
	require.Equal(t, int64(1), d.Scripts())
	both := d.Plus(Counts{Calls: map[string]int64{"evalsha": 3}, CPU: time.Second})
	require.Equal(t, int64(4), both.Scripts())
	require.Equal(t, 3*time.Second, both.CPU)
}

func TestAServerCountsWhatItIsAsked(t *testing.T) {
	s, err := Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ctx := t.Context()
	before, err := s.Counts(ctx)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, s.admin.Set(ctx, "key", "value", 0).Err())
	}
	keys, err := s.Keys(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(1), keys)
	after, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"set": 3}, after.Since(before).Calls)
	require.NoError(t, s.Empty(ctx))
	version, err := s.Version(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, version)
}
