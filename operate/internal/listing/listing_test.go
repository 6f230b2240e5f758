package listing

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Match decides as Redis does, which is asked here.
func TestPatternsAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	patterns := []string{
		"*", "a*", "*b", "a*b*c", "?", "a?c", "[ab]", "[^ab]c", "[a-c]x", "[c-a]x", `\*`, `a\?`, "[ab", `[\]]`, "a[b-", `x\`,
		"", "**", "*?*", "[]", "[^]", "order:*", "{*}", "a**b", "[a-]",
	}
	names := []string{
		"a", "b", "ab", "abc", "aXbYc", "*", "a?", "ax", "bx", "dx", "]", `x\`, "order:1", "{t}", "xc", "ac", "-", "a-", "ab-",
	}
	for _, name := range names {
		require.NoError(t, rdb.Set(t.Context(), name, "", 0).Err())
	}
	for _, pattern := range patterns {
		found, err := rdb.Keys(t.Context(), pattern).Result()
		require.NoError(t, err)
		near, err := rdb.Keys(t.Context(), around(pattern)).Result()
		require.NoError(t, err)
		for _, name := range names {
			assert.Equal(t, contains(found, name), Match(pattern, name), "%q %q", pattern, name)
			if Match(pattern, name) {
				assert.Contains(t, near, name, "around(%q)", pattern)
			}
		}
	}
	for _, name := range names {
		literal, only := Literal(Quote(name))
		assert.True(t, only, name)
		assert.Equal(t, name, literal)
		assert.True(t, Match(Quote(name), name))
	}
	_, only := Literal("a*")
	assert.False(t, only)
}

func contains(all []string, one string) bool {
	for _, a := range all {
		if a == one {
			return true
		}
	}
	return false
}

// What names derive, named undoes.
func TestKeysSpeakForTheirNames(t *testing.T) {
	t.Parallel()
	const client = "8743c9c0-0795-4907-87fd-6c719a6b4586"
	for _, name := range []string{"order", "a:b", "{t}:k", "a{b}c", "日本", "x:timeout:y"} {
		for key, want := range map[string]evidence{
			name:                                     ofKey,
			keys.Prefix("redisson_lock_token", name): ofToken,
			keys.Suffix(name, "timeout"):             ofLeases,
			keys.Own("request", name):                ofRequest,
			keys.Own("gate", name):                   ofGate,
			keys.Own("fair_queue", name):             ofFair,
			keys.Prefix("redisson_lock_queue", name): ofFair,
		} {
			got, is := named(key)
			assert.Equal(t, name, got, key)
			assert.Equal(t, want, is, key)
		}
		for channel, want := range map[string]evidence{
			keys.Prefix("redisson_lock__channel", name):                        ofLockChannel,
			keys.Prefix("redisson_lock__channel", name) + ":" + client + ":17": ofFair,
			keys.Own("fair", name) + ":" + client:                              ofFair,
			keys.Prefix("redisson_rwlock", name):                               ofRWChannel,
			keys.Prefix("redisson_sc", name):                                   ofPermitChannel,
			fmt.Sprintf("redisson_countdownlatch__channel__{%s}", name):        ofLatchChannel,
		} {
			got, is := waitedFor(channel)
			assert.Equal(t, name, got, channel)
			assert.Equal(t, want, is, channel)
		}
		reader := keys.Suffix(name, client+":1:rwlock_timeout:2")
		_, is := named(reader)
		assert.Zero(t, is, reader)
		what, of := transient(reader)
		assert.Equal(t, leakedReader, what)
		assert.Equal(t, name, of)
		what, of = transient(keys.Prefix("redisson_unlock_latch", name) + ":0123abcd")
		assert.Equal(t, leakedResponse, what)
		assert.Equal(t, name, of)
	}
}

func TestWhatWasToldIsRememberedWithinBounds(t *testing.T) {
	t.Parallel()
	var s seen
	assert.False(t, s.has("a"))
	for i := range 3 * generation {
		s.add(fmt.Sprint(i))
	}
	assert.True(t, s.has(fmt.Sprint(3*generation-1)))
	assert.True(t, s.has(fmt.Sprint(2*generation)))
	assert.LessOrEqual(t, len(s.young)+len(s.old), 2*generation)
}
