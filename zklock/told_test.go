package zklock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// watched waits until a server watches as many nodes.
func watched(t *testing.T, server *zktest.Server, n float64) {
	t.Helper()
	eventually(t, func() bool {
		watches, err := server.Metric("zk_watch_count")
		return err == nil && watches == n
	}, "as many nodes are watched")
}

// A holder is told at once that its node was deleted, or its lock broken by another client: it has its node watched,
// and its next renewal is far away. (defect G60)
func TestAHolderWhoseNodeIsDeleted(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	plain := connect(t, server.Addr())
	for what, happens := range map[string]func(t *testing.T, name string){
		"by hand": func(t *testing.T, name string) {
			plain.deletes(t, plain.stand(t, pathOf(name), 1)[0].path)
		},
		"by Break": func(t *testing.T, name string) {
			require.NoError(t, client(t, zklock.Options{}, server.Addr()).Lock(name).Break(within(t)))
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := client(t, zklock.Options{Lease: never / 6}, server.Addr())
			name := nameOf(t)
			held, unlock := take(t, c.Lock(name))
			other, end := take(t, c.Lock(name+"-other"))
			watched(t, server, 2)
			young, leave := take(t, c.Lock(name+"-young"))
			happens(t, name)
			requireGone(t, held)
			require.ErrorIs(t, unlock(), lock.ErrLost)
			require.NoError(t, other.Err())
			require.NoError(t, young.Err())
			require.NoError(t, end())
			require.NoError(t, leave())
			watched(t, server, 0)
		})
	}
}

// A holder's node is watched again by each renewal, and when its connection was lost. (defect G60)
func TestAHolderWhoseNodeIsDeletedAfterRenewals(t *testing.T) {
	t.Parallel()
	server, told := zktest.Start(t, zktest.Options{}), &holding.Renewals{}
	c := client(t, zklock.Options{Lease: never / 6, Observer: told.Observer()}, server.Addr())
	name := nameOf(t)
	held, _ := take(t, c.Lock(name))
	other, _ := take(t, c.Lock(name+"-other"))
	watched(t, server, 2)
	server.Kill()
	server.Restart()
	watched(t, server, 2)
	require.NoError(t, held.Err())
	plain := connect(t, server.Addr())
	plain.deletes(t, plain.stand(t, pathOf(name), 1)[0].path)
	requireGone(t, held)
	require.NoError(t, other.Err())

	c = client(t, zklock.Options{Lease: 2 * brief, Observer: told.Observer()}, server.Addr())
	held, _ = take(t, c.Lock(name))
	told.Outlast(t, name)
	watched(t, server, 2)
	plain.deletes(t, plain.stand(t, pathOf(name), 1)[0].path)
	requireGone(t, held)
}

// What is written into a node that is watched is no deletion, also where its holder had it watched as it waited.
func TestAHolderWhoseNodeIsWritten(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	plain := connect(t, server.Addr())
	c := client(t, zklock.Options{Lease: never / 6}, server.Addr())
	l := c.Lock("a")
	_, theirs := take(t, client(t, zklock.Options{}, server.Addr()).Lock("a"))
	got := waits(t, plain, l, 2)
	require.NoError(t, theirs())
	turn := has(t, got)
	watched(t, server, 3) // its own node by both kinds of watches, and the base of tokens
	one := leader.New(l, leader.Value("one"))
	require.NoError(t, one.Proclaim(turn.held, "two"))
	watched(t, server, 2)
	require.NoError(t, turn.held.Err())
	plain.deletes(t, plain.stand(t, pathOf("a"), 1)[0].path)
	requireGone(t, turn.held)
}

// Locks that are held for less than a second are not watched. Those that are held for longer are by one request.
func TestWhatIsWatched(t *testing.T) {
	t.Parallel()
	faults := &wire{}
	c := client(t, zklock.Options{Lease: never / 6, Dial: faults.Dial})
	name := nameOf(t)
	for began := time.Now(); time.Since(began) < 2500*time.Millisecond; { // the time is what is meant
		taken(t, c.Lock(name))
	}
	require.LessOrEqual(t, faults.Count(watching), 1, "a machine may stand still in the middle of a hold")
	before := faults.Count(watching)
	const many = 20
	for i := range many {
		take(t, c.Lock(name+strconv.Itoa(i)))
	}
	eventually(t, func() bool { return faults.Count(watching) > before }, "they are watched")
	require.LessOrEqual(t, faults.Count(watching), before+2, "a machine may be slow")
}

// A holder is told that its node was deleted though the request that has it watched was lost, or the answer. (defect
// G60)
func TestAHolderWhoseWatchIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range failures {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			faults, name := &wire{}, nameOf(t)
			rule := faults.On(watching, fate)
			c := client(t, zklock.Options{Lease: never / 6, Dial: faults.Dial})
			plain := connect(t, zktest.Shared(t).Addr())
			held, _ := take(t, c.Lock(name))
			rule.Wait(t)
			plain.deletes(t, plain.stand(t, pathOf(name), 1)[0].path)
			requireGone(t, held)
		})
	}
}
