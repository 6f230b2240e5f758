package etcdlock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
)

// Everybody sees who holds a lock, and how many wait.
func TestInspect(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 3, etcdlock.Options{})
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
		require.Positive(t, holder.TTL)
		require.LessOrEqual(t, holder.TTL, 30*time.Second)
		require.Equal(t, 1, info.Held)
		require.Equal(t, 1, info.Waiters)
		require.Len(t, info.Queue, map[bool]int{true: 1}[i == 1], "the calls of this process")
	}
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
	require.ErrorIs(t, theirs.Break(within(t)), lock.ErrNotHeld)
}

// Break ends the hold that was looked at, and its holder learns of it with its next renewal at the latest.
func TestBreak(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 3, etcdlock.Options{Lease: brief})
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

// List tells the locks below a prefix that somebody holds, those of etcd's own clients too, and nothing else.
func TestList(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	plain := connect(t, server.Endpoint())
	a, b := client(t, plain, etcdlock.Options{}), client(t, plain, etcdlock.Options{})
	listed := func(prefix string) (names []string, all map[string]lock.Entry) {
		all = make(map[string]lock.Entry)
		for entry, err := range etcdlock.List(within(t), a, prefix) {
			require.NoError(t, err)
			names = append(names, entry.Name)
			all[entry.Name] = entry
		}
		return names, all
	}
	names, _ := listed("")
	require.Empty(t, names)

	session, err := concurrency.NewSession(plain)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	require.NoError(t, concurrency.NewMutex(session, "m/theirs").Lock(within(t)))
	_, err = plain.Put(within(t), "m/value", "no lock")
	require.NoError(t, err)
	held, unlock := take(t, a.Lock("m/a"))
	_, _ = take(t, a.Lock("z"))
	_, _ = take(t, b.Lock("b/c/d"))
	got := waits(t, plain, b.Lock("m/a"), 2)
	names, all := listed("")
	require.Equal(t, []string{"b/c/d", "m/a", "m/theirs", "z"}, names)
	mine := all["m/a"]
	require.Equal(t, fenceOf(t, a.Lock("m/a"), held), mine.Fence)
	require.Equal(t, 1, mine.Waiters)
	require.Equal(t, lock.KindLock, mine.Kind)
	require.True(t, mine.Holders[0].Mine)
	require.False(t, mine.Free())
	require.False(t, all["b/c/d"].Holders[0].Mine)
	names, _ = listed("m/")
	require.Equal(t, []string{"m/a", "m/theirs"}, names)
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())

	const locks, keys = 400, 3 // more than a page, which ends between the keys of one name
	for i := range locks {
		var put []clientv3.Op
		for k := range keys {
			put = append(put, clientv3.OpPut(fmt.Sprintf("many/%03d/%d", i, k), "", clientv3.WithLease(session.Lease())))
		}
		_, err := plain.Txn(within(t)).Then(put...).Commit()
		require.NoError(t, err)
	}
	names, all = listed("many/")
	require.Len(t, names, locks)
	require.IsIncreasing(t, names)
	for _, entry := range all {
		require.Equal(t, keys-1, entry.Waiters)
	}
}

// Check finds nothing amiss with a server that suits locks, but that it is alone.
func TestCheck(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, etcdlock.Options{})
	found := etcdlock.Check(within(t), all[0])
	require.Equal(t, map[string]lock.Level{
		"version": lock.LevelOK, "round trip": lock.LevelOK, "space": lock.LevelOK,
		"servers": lock.LevelWarning, // there is one
		"trial":   lock.LevelOK, "tokens": lock.LevelOK,
	}, levels(found), "%+v", found)
	require.Empty(t, keysOf(t, plain, "holdfast-check/"))
}

// A leader tells the others who it is, also when its turn came from another of its process.
func TestLeader(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, etcdlock.Options{})
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
	require.Empty(t, keysOf(t, plain, name+"/"))
}
