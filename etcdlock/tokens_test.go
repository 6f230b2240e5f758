package etcdlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/lock"
)

// Tokens grow from hold to hold, of one client or several, whether a hold comes from the store or was passed on.
func TestTokensGrow(t *testing.T) {
	t.Parallel()
	all, _ := clients(t, 2, etcdlock.Options{})
	name := nameOf(t)
	var tokens []int64
	for range 3 {
		for _, c := range all {
			held, unlock := take(t, c.Lock(name))
			tokens = append(tokens, fenceOf(t, c.Lock(name), held))
			next := make(chan turn, 3) // of the same process
			for range cap(next) {
				go func() {
					held, unlock, err := c.Lock(name).Lock(within(t))
					next <- turn{held, unlock, err}
				}()
			}
			eventually(t, func() bool { return c.Stats().Waiters == cap(next) }, "they wait")
			require.NoError(t, unlock())
			for range cap(next) {
				one := has(t, next)
				tokens = append(tokens, fenceOf(t, c.Lock(name), one.held))
				require.NoError(t, one.unlock())
			}
		}
	}
	require.IsIncreasing(t, tokens)
}

// tokenOf takes a lock with a new client, and returns the token.
func tokenOf(t *testing.T, server *etcdtest.Server) int64 {
	t.Helper()
	l := client(t, connect(t, server.Endpoint()), etcdlock.Options{}).Lock("a")
	held, unlock := take(t, l)
	fence := fenceOf(t, l, held)
	require.NoError(t, unlock())
	return fence
}

// After Rebase tokens are above all that were issued, and still grow.
func TestRebase(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	var tokens []int64
	for range 3 {
		tokens = append(tokens, tokenOf(t, server), tokenOf(t, server))
		c := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
		require.NoError(t, etcdlock.Rebase(within(t), c))
		held, unlock := take(t, c.Lock("a"))
		tokens = append(tokens, fenceOf(t, c.Lock("a"), held))
		require.NoError(t, unlock())
	}
	require.IsIncreasing(t, append(tokens, tokenOf(t, server)))
}

// Tokens of other stores are the microseconds of their clocks. Those of an etcd that has no base yet are not below, and
// those of one whose base is old are not after Rebase.
func TestTokensAreAboveThoseOfOtherStores(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	theirs := time.Now().UnixMicro()
	require.Greater(t, tokenOf(t, server), theirs)
	_, err := connect(t, server.Endpoint()).Put(within(t), "holdfast/base", "1")
	require.NoError(t, err)
	theirs = time.Now().UnixMicro()
	require.Less(t, tokenOf(t, server), theirs, "that is why")
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
	require.Contains(t, ofTokens(t, c), "behind the clock, and so below those of locks on Redis and PostgreSQL: call Rebase")
	require.NoError(t, etcdlock.Rebase(within(t), c))
	require.Greater(t, tokenOf(t, server), theirs)
	require.Contains(t, ofTokens(t, c), "ahead of the clock, and so above those of locks on Redis and PostgreSQL")
}

// ofTokens is what Check says of tokens.
func ofTokens(t testing.TB, c *etcdlock.Client) string {
	t.Helper()
	for _, f := range etcdlock.Check(within(t), c) {
		if f.Name == "tokens" {
			return f.Text
		}
	}
	t.Fatal("Check says nothing of tokens")
	panic("unreachable")
}

// A snapshot that is restored takes tokens back, unless revisions are raised with it, or their base after it.
func TestTokensAfterASnapshotWasRestored(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	tokenOf(t, server)
	snapshot := server.Snapshot(t)
	var last int64
	for range 10 {
		last = tokenOf(t, server)
	}
	require.Greater(t, tokenOf(t, etcdtest.Restore(t, snapshot, "--bump-revision=1000000", "--mark-compacted")), last)
	restored := etcdtest.Restore(t, snapshot)
	require.Less(t, tokenOf(t, restored), last, "that is why")
	require.NoError(t, etcdlock.Rebase(within(t), client(t, connect(t, restored.Endpoint()), etcdlock.Options{})))
	require.Greater(t, tokenOf(t, restored), last)
}

// Check tells that tokens have fallen, by a client that has had higher ones. (defect G26)
func TestTokensThatFellAreTold(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
	taken(t, c.Lock("a"))
	snapshot := server.Snapshot(t)
	for range 10 {
		taken(t, c.Lock("a"))
	}
	require.Equal(t, lock.LevelOK, levels(etcdlock.Check(within(t), c))["tokens"])
	server.Rewind(t, snapshot)
	eventually(t, func() bool {
		level, tried := levels(etcdlock.Check(within(t), c))["trial"]
		return tried && level == lock.LevelOK
	}, "it is back")
	require.Equal(t, lock.LevelFailure, levels(etcdlock.Check(within(t), c))["tokens"])
	require.NoError(t, etcdlock.Rebase(within(t), c))
	require.Equal(t, lock.LevelOK, levels(etcdlock.Check(within(t), c))["tokens"])
}

// After Rebase tokens are above all that were issued before, however often a snapshot is restored, and how old it is.
// (defect G26)
func TestTokensAfterEachRestore(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	rebase := func() {
		require.NoError(t, etcdlock.Rebase(within(t), client(t, connect(t, server.Endpoint()), etcdlock.Options{})))
	}
	tokens := []int64{tokenOf(t, server)}
	old := server.Snapshot(t)
	rebase()
	tokens = append(tokens, tokenOf(t, server))
	young := server.Snapshot(t)
	for _, snapshot := range []string{young, young, old, old} {
		server.Rewind(t, snapshot, "--bump-revision=1000000", "--mark-compacted")
		rebase()
		tokens = append(tokens, tokenOf(t, server), tokenOf(t, server))
	}
	require.IsIncreasing(t, tokens)
}

// Holds that a snapshot had are there when it is restored, until their lease ends, and nobody waits for longer.
func TestHoldsOfASnapshot(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{Lease: brief})
	take(t, c.Lock("a"))
	restored := etcdtest.Restore(t, server.Snapshot(t), "--bump-revision=1000000", "--mark-compacted")
	taken(t, client(t, connect(t, restored.Endpoint()), etcdlock.Options{}).Lock("a"))
}

// A base that somebody wrote into etcd, above which no token can grow, is told in the words of the other stores, and
// leaves no key. (defect G64)
func TestATokenThatCannotGrow(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	plain := connect(t, server.Endpoint())
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
	for _, base := range []string{"9223372036854775807", "9223372036854775000"} {
		_, err := plain.Put(within(t), "holdfast/base", base)
		require.NoError(t, err)
		_, _, err = c.Lock("a").TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrKeyConflict, base)
		require.ErrorContains(t, err, "the fencing token cannot grow any more")
		require.Empty(t, keysOf(t, plain, "a/"))
		require.ErrorContains(t, etcdlock.Rebase(within(t), c), "the fencing token cannot grow any more")
	}
}

// What somebody has written in the place of the base is no outage, whoever meets it. (defect G64)
func TestABaseThatIsNone(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	plain := connect(t, server.Endpoint())
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
	take(t, c.Lock("a"))
	_, err := plain.Put(within(t), "holdfast/base", "a number")
	require.NoError(t, err)
	_, _, tried := c.Lock("b").TryLock(within(t))
	var listed error
	for _, listed = range etcdlock.List(within(t), c, "") {
	}
	for what, err := range map[string]error{
		"TryLock": tried, "Rebase": etcdlock.Rebase(within(t), c), "List": listed,
	} {
		require.ErrorIs(t, err, lock.ErrKeyConflict, what)
		require.NotErrorIs(t, err, lock.ErrUnavailable, what)
		require.ErrorContains(t, err, "is no base of tokens", what)
	}
}
