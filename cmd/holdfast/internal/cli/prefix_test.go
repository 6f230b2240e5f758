package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// prefixed is a place whose client has a prefix, as the guide's first sample has it, with a lock that it holds and one
// of the same name that a program without a prefix holds.
func prefixed(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.hold(t, rlock.New(p.client, "order:1"))
	client, err := rlock.NewClient(p.rdb, &rlock.ClientOptions{Prefix: "shop:lock:"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	q := *p
	q.client = client
	return &q
}

// Every command speaks of the names that a program with the same prefix has: what list tells, inspect and break find
// (defect F15).
func TestThePrefixIsTheProgramsForEveryCommand(t *testing.T) {
	p := prefixed(t)
	held := p.hold(t, rlock.New(p.client, "order:1"))
	t.Setenv("HOLDFAST_PREFIX", "shop:lock:")
	for _, args := range [][]string{{"list"}, {"list", "--match", "order:*"}, {"list", "--match", "order:1"}} {
		found := read[[]lockView](t, p, 0, args...)
		require.Len(t, found, 1, "%q", args)
		assert.Equal(t, name("order:1"), found[0].Name)
	}
	hold, err := rlock.New(p.client, "order:1").Held(held)
	require.NoError(t, err)
	assert.Equal(t, name(hold.ID), read[lockView](t, p, 0, "inspect", "order:1").Holders[0].ID)
	out, code := execute(t, "__complete", "break", "--redis", p.url, "or")
	assert.Zero(t, code)
	assert.Contains(t, out, "order:1\n")
	assert.Equal(t, []name{name(hold.ID)}, read[broken](t, p, 0, "break", "order:1").Holders)
	assert.EqualValues(t, 0, p.rdb.Exists(t.Context(), "shop:lock:order:1").Val())
	assert.EqualValues(t, 1, p.rdb.Exists(t.Context(), "order:1").Val(), "another program's")

	p.rdb.HSet(t.Context(), "shop:lock:stuck", java+":1", "1")
	p.rdb.HSet(t.Context(), "stuck", java+":1", "1")
	found := read[[]leakView](t, p, 0, "leaks", "--fix")
	require.Len(t, found, 1)
	assert.Equal(t, name("stuck"), found[0].Name)
	assert.EqualValues(t, 1, p.rdb.Exists(t.Context(), "stuck").Val())
	out, code = p.run(t, "doctor", "--name", "doctor")
	assert.Zero(t, code, out)
	for _, key := range p.server.Keys(t) {
		assert.NotRegexp(t, "^redisson_lock_token:.*doctor", key, "doctor leaves a token")
	}
}

// The flag overrides the environment, and a prefix that cannot be meant is refused before anything is sent (defect F15).
func TestThePrefixIsChecked(t *testing.T) {
	p := prefixed(t)
	p.hold(t, rlock.New(p.client, "order:1"))
	t.Setenv("HOLDFAST_PREFIX", "other:")
	assert.Empty(t, read[[]lockView](t, p, 0, "list"))
	assert.Len(t, read[[]lockView](t, p, 0, "list", "--prefix", "shop:lock:"), 1)
	for _, args := range [][]string{
		{"list"}, {"inspect", "x"}, {"watch"}, {"break", "x"}, {"leaks"}, {"doctor"}, {"run", "x", "true"},
	} {
		for _, prefix := range []string{"", strings.Repeat("p", 1024)} {
			out, code := execute(t, append([]string{"--redis", "redis://127.0.0.1:1", "--prefix", prefix}, args...)...)
			assert.Equal(t, exitUsage, code, "%q: %s", args, out)
			assert.Contains(t, out, "--prefix")
		}
	}
	t.Setenv("HOLDFAST_PREFIX", strings.Repeat("p", 1024))
	out, code := execute(t, "--redis", "redis://127.0.0.1:1", "list")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, out, "HOLDFAST_PREFIX")
}
