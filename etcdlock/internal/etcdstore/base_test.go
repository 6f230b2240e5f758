package etcdstore

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// stored is the base of tokens that etcd has.
func stored(t *testing.T, cli *clientv3.Client, s *Store) int64 {
	t.Helper()
	got, err := cli.Get(within(t), s.baseKey())
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1)
	base, err := strconv.ParseInt(string(got.Kvs[0].Value), 10, 64)
	require.NoError(t, err)
	return base
}

// The base of tokens is made once, of the time, by the client that comes first. No two revisions have a token in common.
func TestTheBaseOfTokens(t *testing.T) {
	t.Parallel()
	name, began := servers.Key(t), time.Now()
	s, cli := started(t, name+"-own/")
	other, _ := started(t, name+"-own/")
	reply := asks(t, s.Lock(name), "id")
	base := stored(t, cli, s)
	require.GreaterOrEqual(t, base, began.UnixMicro(), "as tokens of other stores")
	got, err := cli.Get(within(t), keyOf(t, s.Lock(name), "id"))
	require.NoError(t, err)
	revision := got.Kvs[0].CreateRevision
	require.Equal(t, fence(base, revision), reply.Fence)
	require.Greater(t, reply.Fence-reply.Spare, fence(base, revision-1))
	require.Greater(t, reply.Fence-reply.Spare, base)
	asks(t, other.Lock(name+"-2"), "id")
	late, err := other.based(within(t), nil) // as a client does that found no base just before the first one made it
	require.NoError(t, err)
	require.Equal(t, base, late)
	require.Equal(t, base, stored(t, cli, s))
	require.NoError(t, s.Rebase(within(t)))
	require.Greater(t, stored(t, cli, s), fence(base, 1<<29), "it goes above all that may have been issued")
}

// Several calls at once each go above the one before, and none fails because of another. (defect G26)
func TestSeveralRaiseTheBase(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	asks(t, s.Lock(name), "id")
	before, ctx := stored(t, cli, s), within(t)
	failed := make(chan error, 8)
	for range cap(failed) {
		go func() { failed <- s.Rebase(ctx) }()
	}
	for range cap(failed) {
		require.NoError(t, <-failed)
	}
	require.Greater(t, stored(t, cli, s), before+7*leap)
}

// Clients take the base that etcd has when they are granted a lock, though they waited for it before: tokens do not fall
// when it is raised, or deleted, while they are in use. An operator must delete it in all of them to have it lower.
func TestTheBaseChangesWhileClientsRun(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	other, _ := started(t, name+"-own/")
	a, b := s.Lock(name), other.Lock(name)
	deleted := func() {
		_, err := cli.Delete(within(t), s.baseKey())
		require.NoError(t, err)
	}
	var tokens []int64
	turn := func(l *Lock, id string, between func()) {
		t.Helper()
		reply := asks(t, l, id)
		require.Equal(t, store.Held, reply.Status)
		tokens = append(tokens, reply.Fence)
		between()
		require.Equal(t, store.Done, releases(t, l, id))
	}
	nothing := func() {}
	turn(a, "1", func() { require.Equal(t, store.Busy, asks(t, b, "2").Status) })
	require.NoError(t, s.Rebase(within(t)))
	far := stored(t, cli, s)
	turn(b, "2", nothing)
	require.Greater(t, tokens[1], far)
	turn(a, "3", deleted)
	turn(b, "4", nothing)
	require.GreaterOrEqual(t, stored(t, cli, s), far)
	turn(a, "5", nothing)
	require.IsIncreasing(t, tokens)
	info, err := a.Inspect(within(t))
	require.NoError(t, err)
	require.Equal(t, store.InspectReply{PTTL: -1}, info)
}

// A client never has tokens above a lower base than it had before: it raises what another client has made anew, after
// somebody had deleted the base, or what an older snapshot has. (defect G27)
func TestABaseThatFell(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	require.NoError(t, s.Rebase(within(t)))
	first := asks(t, l, "1")
	require.Equal(t, store.Done, releases(t, l, "1"))
	known := stored(t, cli, s)
	_, err := cli.Put(within(t), s.baseKey(), "1000")
	require.NoError(t, err)
	second := asks(t, l, "2")
	require.Greater(t, second.Fence, first.Fence)
	require.Equal(t, known, stored(t, cli, s), "others have it, too")
}

// A call of Rebase is above what was issued after an earlier one, though the snapshot that was restored in between knows
// nothing of that, and may have the base of an even earlier call. (defect G26)
func TestABaseAboveOneThatIsForgotten(t *testing.T) {
	t.Parallel()
	now := began.Add(365 * 24 * time.Hour)
	const revisions = steep * 1000 * 60 // in a minute
	for what, old := range map[string]int64{
		"never called before": now.Add(-time.Hour).UnixMicro(), "called before": above(1, now.Add(-time.Hour)),
	} {
		lost := above(above(old, now.Add(-time.Minute)), now)
		next := above(old, now.Add(time.Minute))
		require.Greater(t, next, fence(lost, revisions), what)
	}
	ahead := above(1, now.Add(time.Hour))
	require.GreaterOrEqual(t, above(ahead, now), fence(ahead, 1<<29), "by a clock that is behind")
}

// A base that is no number is told, and no lock is granted with a token that may be too low.
func TestABaseThatIsNone(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "x", "0", "-1", "99999999999999999999"} {
		name := servers.Key(t)
		s, cli := started(t, name+"-own/")
		_, err := cli.Put(within(t), s.baseKey(), value)
		require.NoError(t, err)
		l := s.Lock(name)
		_, _, err = l.Acquire(within(t), askOf("id"))
		require.ErrorIs(t, err, store.ErrConflict)
		require.ErrorContains(t, err, s.baseKey())
		require.Empty(t, keysOf(t, cli, l))
		require.ErrorIs(t, s.Rebase(within(t)), store.ErrConflict)
	}
}
