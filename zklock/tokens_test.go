package zklock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// Tokens grow from hold to hold, of one client or several, whether a hold comes from the store or was passed on.
func TestTokensGrow(t *testing.T) {
	t.Parallel()
	all, _ := clients(t, 2, zklock.Options{})
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
func tokenOf(t *testing.T, server *zktest.Server) int64 {
	t.Helper()
	l := client(t, zklock.Options{}, server.Addr()).Lock("a")
	held, unlock := take(t, l)
	fence := fenceOf(t, l, held)
	require.NoError(t, unlock())
	return fence
}

// After Rebase tokens are above all that were issued, and still grow.
func TestRebase(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	var tokens []int64
	for range 3 {
		tokens = append(tokens, tokenOf(t, server), tokenOf(t, server))
		c := client(t, zklock.Options{}, server.Addr())
		require.NoError(t, zklock.Rebase(within(t), c))
		held, unlock := take(t, c.Lock("a"))
		tokens = append(tokens, fenceOf(t, c.Lock("a"), held))
		require.NoError(t, unlock())
	}
	require.IsIncreasing(t, append(tokens, tokenOf(t, server)))
}

// Tokens of other stores are the microseconds of their clocks. Those of a ZooKeeper that has no base yet are not below,
// and those of one whose base is old are not after Rebase.
func TestTokensAreAboveThoseOfOtherStores(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	theirs := time.Now().UnixMicro()
	require.Greater(t, tokenOf(t, server), theirs)
	plain := connect(t, server.Addr())
	plain.writes(t, "/holdfast/base", "1")
	theirs = time.Now().UnixMicro()
	require.Less(t, tokenOf(t, server), theirs, "that is why")
	c := client(t, zklock.Options{}, server.Addr())
	require.Contains(t, ofTokens(t, c), "behind the clock, and so below those of locks on Redis and PostgreSQL: call Rebase")
	require.NoError(t, zklock.Rebase(within(t), c))
	require.Greater(t, tokenOf(t, server), theirs)
	require.Contains(t, ofTokens(t, c), "ahead of the clock, and so above those of locks on Redis and PostgreSQL")
}

// ofTokens is what Check says of tokens.
func ofTokens(t testing.TB, c *zklock.Client) string {
	t.Helper()
	for _, f := range zklock.Check(within(t), c) {
		if f.Name == "tokens" {
			return f.Text
		}
	}
	t.Fatal("Check says nothing of tokens")
	panic("unreachable")
}

// Check tells that tokens have fallen, by a client that has had higher ones.
func TestTokensThatFellAreTold(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	c := client(t, zklock.Options{}, server.Addr())
	taken(t, c.Lock("a"))
	snapshot := server.Snapshot(t)
	for range 10 {
		taken(t, c.Lock("a"))
	}
	require.Equal(t, lock.LevelOK, levels(zklock.Check(within(t), c))["tokens"])
	server.Rewind(t, snapshot)
	eventually(t, func() bool {
		level, tried := levels(zklock.Check(within(t), c))["trial"]
		return tried && level == lock.LevelOK
	}, "it is back")
	require.Equal(t, lock.LevelFailure, levels(zklock.Check(within(t), c))["tokens"])
	require.NoError(t, zklock.Rebase(within(t), c))
	require.Equal(t, lock.LevelOK, levels(zklock.Check(within(t), c))["tokens"])
}

// After Rebase tokens are above all that were issued before, however often a snapshot is restored, and how old it is.
func TestTokensAfterEachRestore(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	rebase := func() {
		require.NoError(t, zklock.Rebase(within(t), client(t, zklock.Options{}, server.Addr())))
	}
	tokens := []int64{tokenOf(t, server)}
	old := server.Snapshot(t)
	rebase()
	tokens = append(tokens, tokenOf(t, server))
	young := server.Snapshot(t)
	for _, snapshot := range []string{young, young, old, old} {
		server.Rewind(t, snapshot)
		rebase()
		tokens = append(tokens, tokenOf(t, server), tokenOf(t, server))
	}
	require.IsIncreasing(t, tokens)
}

// A base that somebody wrote into ZooKeeper, above which no token can grow, is told in the words of the other stores,
// and leaves no node.
func TestATokenThatCannotGrow(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	plain := connect(t, server.Addr())
	c := client(t, zklock.Options{}, server.Addr())
	taken(t, c.Lock("a")) // which makes the base
	for _, base := range []string{"9223372036854775807", "9223372036854775000"} {
		plain.writes(t, "/holdfast/base", base)
		_, _, err := c.Lock("a").TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrKeyConflict, base)
		require.ErrorContains(t, err, "the fencing token cannot grow any more")
		require.Empty(t, plain.children(t, pathOf("a")))
		require.ErrorContains(t, zklock.Rebase(within(t), c), "the fencing token cannot grow any more")
	}
}

// What somebody has written in the place of the base is no outage, whoever meets it.
func TestABaseThatIsNone(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	plain := connect(t, server.Addr())
	c := client(t, zklock.Options{}, server.Addr())
	taken(t, c.Lock("a")) // which makes the base
	take(t, c.Lock("a"))
	plain.writes(t, "/holdfast/base", "a number")
	_, _, tried := c.Lock("b").TryLock(within(t))
	var listed error
	for _, listed = range zklock.List(within(t), c, "") {
	}
	for what, err := range map[string]error{
		"TryLock": tried, "Rebase": zklock.Rebase(within(t), c), "List": listed,
	} {
		require.ErrorIs(t, err, lock.ErrKeyConflict, what)
		require.NotErrorIs(t, err, lock.ErrUnavailable, what)
		require.ErrorContains(t, err, "is no base of tokens", what)
	}
}
