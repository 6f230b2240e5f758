package zklock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
	protocol "github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// Everybody sees who holds a lock, and how many wait. How long the holder's session lasts no server says.
func TestInspect(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 3, zklock.Options{})
	l, theirs := all[0].Lock(nameOf(t)), all[1].Lock(nameOf(t))
	info, err := l.Inspect(within(t))
	require.NoError(t, err)
	require.Zero(t, info.Held)
	require.Empty(t, info.Holders)

	held, unlock := take(t, l)
	hold, err := l.Held(held)
	require.NoError(t, err)
	got := waits(t, plain, all[1].Lock(l.Name()), 2)
	for i, c := range all {
		info, err := c.Lock(l.Name()).Inspect(within(t))
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		holder := info.Holders[0]
		require.Equal(t, hold.ID, holder.ID)
		require.Equal(t, hold.Fence, holder.Fence)
		require.Equal(t, i == 0, holder.Mine)
		require.Equal(t, 1, holder.Count)
		require.Negative(t, holder.TTL)
		require.Equal(t, 1, info.Held)
		require.Equal(t, 1, info.Waiters)
		require.Len(t, info.Queue, map[bool]int{true: 1}[i == 1], "the calls of this process")
	}
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
	require.ErrorIs(t, theirs.Break(within(t)), lock.ErrNotHeld)
}

// Break ends the hold that was looked at, and its holder learns of it, also where it has only just begun.
func TestBreak(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 3, zklock.Options{Lease: brief})
	name := nameOf(t)
	for _, broken := range []func() error{
		func() error { return all[2].Lock(name).Break(within(t)) },
		func() error { return all[0].Lock(name).Break(within(t)) }, // its own
		func() error {
			info, err := all[2].Lock(name).Inspect(within(t))
			require.NoError(t, err)
			require.ErrorIs(t, all[2].Lock(name).BreakOne(within(t), "nobody:1"), lock.ErrNotHeld)
			return all[2].Lock(name).BreakOne(within(t), info.Holders[0].ID)
		},
	} {
		held, unlock := take(t, all[0].Lock(name))
		got := waits(t, plain, all[1].Lock(name), 2)
		require.NoError(t, broken())
		turn := has(t, got)
		var loss *lock.LostError
		require.ErrorAs(t, ended(t, held), &loss)
		require.Equal(t, lock.LossGone, loss.Reason)
		require.ErrorIs(t, unlock(), lock.ErrLost)
		require.NoError(t, turn.held.Err())
		require.NoError(t, turn.unlock())
	}
}

// List tells the locks below a prefix that somebody holds, those of other programs too, and nothing else.
func TestList(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	plain := connect(t, server.Addr())
	a, b := client(t, zklock.Options{}, server.Addr()), client(t, zklock.Options{}, server.Addr())
	listed := func(prefix string) (names []string, all map[string]lock.Entry) {
		all = make(map[string]lock.Entry)
		for entry, err := range zklock.List(within(t), a, prefix) {
			require.NoError(t, err)
			names = append(names, entry.Name)
			all[entry.Name] = entry
		}
		return names, all
	}
	names, _ := listed("")
	require.Empty(t, names)

	held, unlock := take(t, a.Lock("m/a"))
	_, _ = take(t, a.Lock("m-b"))
	_, _ = take(t, a.Lock("z"))
	_, _ = take(t, b.Lock("b/c/d"))
	taken(t, b.Lock("m/free"))
	require.NoError(t, plain.asks(t, protocol.Create(pathOf("m/theirs"), nil, anyone)).Err)
	require.NoError(t, plain.asks(t, protocol.Stand(pathOf("m/theirs/_c_5d-lock-"), nil, anyone)).Err)
	got := waits(t, plain, b.Lock("m/a"), 2)
	names, all := listed("")
	require.Equal(t, []string{"b/c/d", "m-b", "m/a", "m/theirs", "z"}, names)
	mine := all["m/a"]
	require.Equal(t, fenceOf(t, a.Lock("m/a"), held), mine.Fence)
	require.Equal(t, 1, mine.Waiters)
	require.Equal(t, lock.KindLock, mine.Kind)
	require.True(t, mine.Holders[0].Mine)
	require.False(t, mine.Free())
	require.False(t, all["b/c/d"].Holders[0].Mine)
	require.Equal(t, "_c_5d-lock-0000000000", all["m/theirs"].Holders[0].ID)
	for prefix, want := range map[string][]string{
		"m/": {"m/a", "m/theirs"}, "m/t": {"m/theirs"}, "m": {"m-b", "m/a", "m/theirs"}, "b/c/": {"b/c/d"}, "x": nil,
	} {
		names, _ = listed(prefix)
		require.Equal(t, want, names, prefix)
	}
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
}

// Check finds nothing amiss with a server that suits locks, but that it is alone.
func TestCheck(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, zklock.Options{})
	found := zklock.Check(within(t), all[0])
	version, err := zktest.Version()
	require.NoError(t, err)
	want := map[string]lock.Level{
		"version": lock.LevelOK, "round trip": lock.LevelOK,
		"servers": lock.LevelWarning, // there is one
		"trial":   lock.LevelOK, "tokens": lock.LevelOK,
	}
	if strings.HasPrefix(version, "3.8.") {
		want["version"] = lock.LevelWarning
	}
	require.Equal(t, want, levels(found), "%+v", found)
	require.Empty(t, plain.children(t, pathOf("holdfast-check")))
	c := client(t, zklock.Options{Lease: brief}, nowhere)
	require.Equal(t, map[string]lock.Level{"server": lock.LevelWarning, "servers": lock.LevelFailure},
		levels(zklock.Check(within(t), c)))
}

// A leader tells the others who it is, also when its turn came from another of its process.
func TestLeader(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, zklock.Options{})
	name := nameOf(t)
	current := func() leader.Leader {
		t.Helper()
		who, err := leader.New(all[1].Lock(name)).Current(within(t))
		require.NoError(t, err)
		return who
	}
	_, err := leader.New(all[1].Lock(name)).Current(within(t))
	require.ErrorIs(t, err, leader.ErrNoLeader)
	one := leader.New(all[0].Lock(name), leader.Value("one"))
	term, resign, err := one.Campaign(within(t))
	require.NoError(t, err)
	who := current()
	require.Equal(t, "one", who.Value)
	require.WithinDuration(t, time.Now(), who.Since, holding.Patience)
	hold, err := one.Term(term)
	require.NoError(t, err)
	require.Equal(t, hold.Fence, who.Term)
	require.ErrorIs(t, one.Proclaim(within(t), "nobody's"), lock.ErrNotHeld)
	require.NoError(t, one.Proclaim(term, "one, again"))
	require.Equal(t, leader.Leader{Value: "one, again", Term: who.Term, Since: who.Since}, current())

	next := make(chan turn, 2)
	for range cap(next) { // of the same process
		go func() {
			term, resign, err := leader.New(all[0].Lock(name), leader.Value("next")).Campaign(within(t))
			next <- turn{term, resign, err}
		}()
	}
	eventually(t, func() bool { return all[0].Stats().Waiters == cap(next) }, "they wait")
	last := who
	require.NoError(t, resign())
	for range cap(next) {
		turn := has(t, next)
		who := current()
		require.Equal(t, "next", who.Value)
		require.Greater(t, who.Term, last.Term)
		last = who
		require.NoError(t, turn.unlock())
	}
	_, err = leader.New(all[1].Lock(name)).Current(within(t))
	require.ErrorIs(t, err, leader.ErrNoLeader)
	require.Empty(t, plain.children(t, pathOf(name)))
}
