package operate_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// What List tells is a name for the client that asks, of every kind of lock, and nothing of other programs' locks is
// among it: an operator's Break ends the very lock that List has told (defect F15).
func TestListTellsNamesOfTheClientThatAsks(t *testing.T) {
	t.Parallel()
	listPlaces(t, func(t *testing.T, rdb redis.UniversalClient) {
		const prefix = `shop[1]*\:`
		ctx := within(t)
		client := clientOn(t, rdb, &rlock.ClientOptions{Prefix: prefix})
		want := takeOneOfEach(t, client)
		plain := clientOn(t, rdb, nil)
		for _, other := range []string{"order:1", prefix, "shop1\\:order:1"} {
			take(t, ctx, rlock.New(plain, other))
		}
		all := listed(t, client, "*")
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(all)))
		require.Len(t, listed(t, client, "l:*plain"), 2)
		require.Empty(t, listed(t, client, "order:*"))

		for entry, err := range operate.List(ctx, client, "l:plain") {
			require.NoError(t, err)
			require.NoError(t, rlock.New(client, entry.Name).Break(ctx))
		}
		info, err := rlock.New(plain, prefix+"l:plain").Inspect(ctx)
		require.NoError(t, err)
		require.Zero(t, info.Held)
	})
}

// A leak belongs to a name of the client that asks, and Free ends that one (defect F15).
func TestLeaksTellNamesOfTheClientThatAsks(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	client := clientOn(t, rdb, &rlock.ClientOptions{Prefix: "app:"})
	for _, key := range []string{"app:stuck", "app:", "stuck"} {
		require.NoError(t, rdb.HSet(t.Context(), key, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1").Err())
	}
	require.NoError(t, rdb.Set(t.Context(), "holdfast_gate:{app:report}", "1", 0).Err())
	found := make(map[string]lock.Leak)
	for leak, err := range operate.Leaks(within(t), client, "*") {
		require.NoError(t, err)
		found[leak.Name] = leak
	}
	require.Len(t, found, 2)
	require.Equal(t, "app:stuck", found["stuck"].Key)
	require.Equal(t, "holdfast_gate:{app:report}", found["report"].Key)
	freed, err := operate.Free(within(t), client, found["stuck"])
	require.NoError(t, err)
	require.True(t, freed)
	require.EqualValues(t, 2, rdb.Exists(t.Context(), "app:", "stuck").Val())
}
