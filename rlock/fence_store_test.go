package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// fenceForEver is what Redis answers for a key that never expires.
const fenceForEver = -1 * time.Nanosecond

// G13, need 12: how long the token's key lives. The life is refreshed at least once per quarter of FenceTTL, so
// that each token is kept for FenceTTL at least and for 5/4 of it at most, as the documentation says (defect D10).
func TestLifeOfTheTokenKey(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	for name, c := range map[string]struct {
		option       time.Duration
		found        string // what stands there before; "": nothing
		foundTTL     time.Duration
		above, atMax time.Duration // equal: exactly that
	}{
		"by default a week":                        {0, "", 0, week, week * 5 / 4},
		"as the option says":                       {time.Hour, "", 0, time.Hour, time.Hour * 5 / 4},
		"for ever":                                 {-1, "", 0, fenceForEver, fenceForEver},
		"a key found without expiry gets none":     {time.Hour, "41", 0, fenceForEver, fenceForEver},
		"nor by default":                           {0, "41", 0, fenceForEver, fenceForEver},
		"for ever takes an expiry away":            {-1, "41", time.Hour, fenceForEver, fenceForEver},
		"a longer life that is found is not cut":   {time.Hour, "41", 10 * time.Hour, 9 * time.Hour, 10 * time.Hour},
		"a shorter life that is found is extended": {time.Hour, "41", time.Minute, time.Hour, time.Hour * 5 / 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			rdb, key := server.Client(t), redistest.Key(t)
			if c.found != "" {
				err := rdb.Set(t.Context(), fenceKey(key), c.found, c.foundTTL).Err()
				require.NoError(t, err)
			}
			lock := rlock.New(
				timeClient(t, server.Addr(), rlock.ClientOptions{FenceTTL: c.option}), key)
			var last int64
			for range 3 {
				fence := fenceOnce(t, lock)
				require.Greater(t, fence, max(last, 41))
				last = fence
				life := timeTTL(t, rdb, fenceKey(key))
				if c.above == c.atMax {
					require.Equal(t, c.atMax, life)
				} else {
					timeBetween(t, c.above-5*time.Second, life, c.atMax)
				}
			}
		})
	}
}

// Need 12: the key of a disused name vanishes (redisson#6510: 25 million eternal keys), and the next token is
// greater all the same, because time has passed the old one by.
func TestTokenGrowsThoughItsKeyExpired(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{FenceTTL: time.Second})
	lock := rlock.New(client, key)
	first := fenceOnce(t, lock)
	timeGoneSoon(t, rdb, fenceKey(key))
	require.Greater(t, fenceOnce(t, lock), first)
}

// Numbers that neither Lua's numbers nor its strings can take (interleaving 11): the token is exact.
func TestTokensAboveTheNumbersOfLua(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored string
		next   int64
	}{
		"2^53 - 1":       {"9007199254740991", 9007199254740992},
		"2^53":           {"9007199254740992", 9007199254740993},
		"2^53 + 1":       {"9007199254740993", 9007199254740994},
		"far above 2^53": {"1234567890123456789", 1234567890123456790},
		"2^63 - 2":       {"9223372036854775806", 9223372036854775807},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			rdb, key := server.Client(t), redistest.Key(t)
			require.NoError(t, rdb.Set(t.Context(), fenceKey(key), c.stored, time.Hour).Err())
			lock := rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{}), key)
			h := timeLock(t, t.Context(), lock)
			require.Equal(t, c.next, fenceOf(t, h.ctx, lock))
			require.Equal(t, c.next, inspect(t, lock).Holders[0].Fence)
			require.NoError(t, h.unlock())
		})
	}
}

// A server whose clock was set back mints by counting until its clock has caught up.
func TestTokensGrowByOneWhenTheClockIsBehindThem(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	ahead := time.Now().Add(time.Hour).UnixMicro()
	require.NoError(t, rdb.Set(t.Context(), fenceKey(key), ahead, time.Hour).Err())
	lock := rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{}), key)
	for i := range int64(3) {
		require.Equal(t, ahead+1+i, fenceOnce(t, lock))
	}
}

// G14: a value that is no token, or cannot grow, is a conflict, and the lock is not taken.
func TestTokenKeyThatIsSomethingElse(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb := server.Client(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	for _, value := range []string{
		"hello", "", "1.5", "1e3", " 7", "9223372036854775807", "99999999999999999999",
	} {
		key := redistest.Key(t)
		require.NoError(t, rdb.Set(t.Context(), fenceKey(key), value, 0).Err())
		_, _, err := rlock.New(client, key).Lock(t.Context())
		require.ErrorIs(t, err, rlock.ErrKeyConflict, "%q", value)
		timeGone(t, rdb, key)
		require.Equal(t, value, rdb.Get(t.Context(), fenceKey(key)).Val())
	}
	key := redistest.Key(t)
	require.NoError(t, rdb.LPush(t.Context(), fenceKey(key), "x").Err())
	_, _, err := rlock.New(client, key).Lock(t.Context())
	require.ErrorIs(t, err, rlock.ErrKeyConflict)
	timeGone(t, rdb, key)
}
