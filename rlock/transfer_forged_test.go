package rlock_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// forged are tokens that name a hold by its id, as logs, Inspect and Redis show it, with a fencing token and an end that
// suit the forger.
func forged(t *testing.T, key, id string, fence int64) map[string]string {
	t.Helper()
	client, number, found := strings.Cut(id, ":")
	require.True(t, found)
	late := time.Date(2255, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	tokens := make(map[string]string)
	for name, fields := range map[string]map[string]any{
		"by its id":        {"i": id, "f": fence},
		"a great token":    {"i": id, "f": int64(1) << 62},
		"a late end":       {"i": id, "f": fence, "m": late},
		"by its number":    {"c": client, "s": number, "f": fence},
		"by its whole id":  {"c": client, "s": id, "f": fence},
		"nothing unknown":  {"c": id, "s": "", "f": fence},
		"no secret at all": {"c": client, "f": fence, "m": late},
		"both":             {"c": client, "s": number, "i": id, "f": int64(1) << 62, "m": late},
	} {
		fields["k"] = []byte(key)
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		tokens[name] = base64.RawURLEncoding.EncodeToString(text)
	}
	return tokens
}

// refusesAll imports tokens that no Export has made: each is refused, with a typed error, and nothing changes in Redis.
func refusesAll(t *testing.T, lock *rlock.Lock, state func() map[string]string, tokens map[string]string) {
	t.Helper()
	before := state()
	for name, token := range tokens {
		_, unlock, err := lock.Import(t.Context(), token)
		var bad *rlock.ArgumentError
		if !errors.As(err, &bad) {
			require.ErrorIs(t, err, rlock.ErrNotHeld, name)
		}
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld, name)
		require.Equal(t, before, state(), name)
	}
}

// defect F7: an export token could be made up from a hold's id. It took a live hold, of Java too: two live contexts for
// a third of a lease.
func TestATokenCannotBeMadeUpFromAHoldsID(t *testing.T) {
	t.Parallel()
	a, b, key := transferPair(t)
	rdb := redistest.Shared(t).Client(t)
	here, there := rlock.New(a, key), rlock.New(b, key)
	state := func() map[string]string { return rdb.HGetAll(t.Context(), key).Val() }

	hold := timeLock(t, t.Context(), here)
	held := timeHeld(t, hold.ctx, here)
	refusesAll(t, there, state, forged(t, key, held.ID, held.Fence))
	refusesAll(t, here, state, forged(t, key, held.ID, held.Fence))
	require.NoError(t, hold.ctx.Err())

	// On its way the hold has an id that everybody can see.
	token, err := here.Export(hold.ctx)
	require.NoError(t, err)
	info, err := there.Inspect(t.Context())
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	refusesAll(t, there, state, forged(t, key, held.ID, held.Fence))
	refusesAll(t, there, state, forged(t, key, info.Holders[0].ID, held.Fence))
	ctx, unlock, err := there.Import(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, held.Fence, timeHeld(t, ctx, there).Fence)
	require.NoError(t, unlock())

	const java = "8743c9c0-0795-4907-87fd-6c719a6b4586:1"
	require.NoError(t, rdb.HSet(t.Context(), key, java, 1).Err())
	require.NoError(t, rdb.PExpire(t.Context(), key, time.Minute).Err())
	refusesAll(t, there, state, forged(t, key, java, 7))
	require.NoError(t, rdb.Del(t.Context(), key).Err())
}

// defect F7: an export token was imported with whatever fencing token and end somebody wrote into it.
func TestATokenThatWasChangedTakesNothing(t *testing.T) {
	t.Parallel()
	a, b, key := transferPair(t)
	rdb := redistest.Shared(t).Client(t)
	here, there := rlock.New(a, key, rlock.MinHold(5*time.Second)), rlock.New(b, key)
	hold := timeLock(t, t.Context(), here)
	fence := timeHeld(t, hold.ctx, here).Fence
	token, err := here.Export(hold.ctx)
	require.NoError(t, err)
	text, err := base64.RawURLEncoding.DecodeString(token)
	require.NoError(t, err)
	for id := range rdb.HGetAll(t.Context(), key).Val() {
		require.NotContains(t, string(text), id, "the token names what everybody can see")
	}
	tokens := make(map[string]string)
	var genuine map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &genuine))
	for field := range genuine {
		if field == "k" {
			continue // told as another lock's
		}
		for what, value := range map[string]any{
			"greater": fence + 1, "huge": int64(1) << 62, "late": int64(8_993_000_000_000_000), "none": nil, "zero": 0,
			"text": "8743c9c0-0795-4907-87fd-6c719a6b4586", "empty": "",
		} {
			changed := make(map[string]any)
			for name, value := range genuine {
				changed[name] = value
			}
			changed[field] = value
			text, err := json.Marshal(changed)
			require.NoError(t, err)
			tokens[fmt.Sprint(field, " is ", what)] = base64.RawURLEncoding.EncodeToString(text)
		}
	}
	require.Greater(t, len(tokens), 20)
	refusesAll(t, there, func() map[string]string { return rdb.HGetAll(t.Context(), key).Val() }, tokens)
	ctx, unlock, err := there.Import(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, fence, timeHeld(t, ctx, there).Fence)
	require.NoError(t, unlock())
	require.NoError(t, rdb.Del(t.Context(), key).Err())
}
