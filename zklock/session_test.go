package zklock_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/fates"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// requireGone requires that a hold has ended, because ZooKeeper said that it is gone.
func requireGone(t *testing.T, held context.Context) {
	t.Helper()
	var loss *lock.LostError
	require.ErrorAs(t, ended(t, held), &loss)
	require.ErrorIs(t, loss, lock.ErrLost)
	require.Equal(t, lock.LossGone, loss.Reason)
}

// When the client's session ends, all its holds are lost at once, its waiters go on, and so does the client, under
// another session.
func TestAClientWhoseSessionEnds(t *testing.T) {
	t.Parallel()
	faults := &wire{}
	c := client(t, zklock.Options{Lease: never / 6, Dial: faults.Dial})
	all, plain := clients(t, 1, zklock.Options{})
	waited, name := nameOf(t), nameOf(t)
	_, theirs := take(t, all[0].Lock(waited))
	got := waits(t, plain, c.Lock(waited), 2)
	var holds []turn
	for i := range 5 {
		held, unlock := take(t, c.Lock(name+strconv.Itoa(i)))
		holds = append(holds, turn{held: held, unlock: unlock})
	}
	session := plain.stand(t, pathOf(name+"0"), 1)[0].Owner
	faults.ends(t)
	for i, one := range holds { // though the next renewal is far away
		requireGone(t, one.held)
		taken(t, all[0].Lock(name+strconv.Itoa(i)))
		require.ErrorIs(t, one.unlock(), lock.ErrLost)
	}
	taken(t, c.Lock(name))
	require.NotEqual(t, session, plain.stand(t, pathOf(waited), 2)[1].Owner)
	require.NoError(t, theirs())
	turn := has(t, got)
	require.NoError(t, turn.held.Err())
	require.NoError(t, turn.unlock())
}

// A client that held nothing for longer than its lease has no session any more, and its first try notices none of that.
func TestAClientThatWasIdle(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, zklock.Options{Lease: 2 * brief})
	l := all[0].Lock(nameOf(t))
	_, unlock := take(t, l)
	session := plain.stand(t, pathOf(l.Name()), 1)[0].Owner
	require.NoError(t, unlock())
	time.Sleep(3 * brief) // the time is what is meant
	held, unlock, err := l.TryLock(within(t))
	require.NoError(t, err)
	require.NotEqual(t, session, plain.stand(t, pathOf(l.Name()), 1)[0].Owner)
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// A hold that is renewed outlives its lease, and so does one with a lease of its own that is shorter.
func TestAHoldThatIsRenewed(t *testing.T) {
	t.Parallel()
	var told holding.Renewals
	c := client(t, zklock.Options{Lease: 2 * brief, Observer: told.Observer()})
	name := nameOf(t)
	held, unlock := take(t, c.Lock(name))
	short, end := take(t, c.Lock(name+"-short", lock.Lease(brief)))
	told.Outlast(t, name, name+"-short")
	require.NoError(t, held.Err())
	require.NoError(t, short.Err())
	require.NoError(t, unlock())
	require.NoError(t, end())
}

// A waiter keeps its place, and hears of its turn, for much longer than a lease, though its client holds nothing.
func TestAWaiterWhoseClientHoldsNothing(t *testing.T) {
	t.Parallel()
	faults := &wire{}
	c := client(t, zklock.Options{Lease: brief, Dial: faults.Dial})
	all, plain := clients(t, 1, zklock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	got := waits(t, plain, c.Lock(name), 2)
	node := plain.children(t, pathOf(name))[1]
	before := faults.Count(sweeping)
	eventually(t, func() bool { return faults.Count(sweeping) > before+4 }, "its session is attached again and again")
	require.Equal(t, node, plain.stand(t, pathOf(name), 2)[1])
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
}

// A client that is closed leaves nothing in ZooKeeper but the base of tokens and the locks' nodes, which servers
// delete.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	plain := connect(t, server.Addr())
	faults := &wire{}
	a := client(t, zklock.Options{Dial: faults.Dial}, server.Addr())
	b := client(t, zklock.Options{}, server.Addr())
	_, unlock := take(t, b.Lock("theirs"))
	held, _ := take(t, a.Lock("held"))
	waiting := waits(t, plain, a.Lock("theirs"), 2)
	abandoned, cancel := context.WithCancel(within(t))
	rule := faults.On(acquiring, fates.Silence)
	left := make(chan error, 1)
	go func() {
		_, _, err := a.Lock("left").Lock(abandoned)
		left <- err
	}()
	rule.Wait(t)
	cancel()
	require.ErrorIs(t, await(t, left, "it leaves"), context.Canceled)
	require.ErrorContains(t, a.Close(), `"held"`)
	require.ErrorIs(t, await(t, waiting, "a waiter").err, lock.ErrClosed)
	require.ErrorIs(t, context.Cause(held), lock.ErrClosed)
	for name, nodes := range map[string]int{"held": 0, "left": 0, "theirs": 1} {
		require.Len(t, plain.children(t, pathOf(name)), nodes, name)
	}
	require.NoError(t, unlock())
	require.NoError(t, b.Close())
}

// A server that stands still holds up neither those who leave, nor Close, and what was there ends with its session.
func TestCloseOfAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	opts := zklock.Options{Lease: 2 * brief, ReleaseTimeout: time.Second}
	c, other := client(t, opts, server.Addr()), client(t, opts, server.Addr())
	plain := connect(t, server.Addr())
	_, _ = take(t, other.Lock("theirs"))
	held, _ := take(t, c.Lock("held"))
	_, unlock := take(t, c.Lock("unlocked"))
	got := waits(t, plain, c.Lock("theirs"), 2)
	server.Freeze()
	began := time.Now()
	require.ErrorIs(t, unlock(), lock.ErrUnconfirmed)
	require.NoError(t, held.Err())
	require.ErrorContains(t, c.Close(), `"held"`)
	require.ErrorIs(t, await(t, got, "a waiter").err, lock.ErrClosed)
	require.ErrorContains(t, other.Close(), `"theirs"`)
	require.ErrorIs(t, context.Cause(held), lock.ErrClosed)
	require.Less(t, time.Since(began), 15*time.Second)
	server.Resume()
	next := client(t, zklock.Options{}, server.Addr())
	taken(t, next.Lock("held"))
	taken(t, next.Lock("unlocked"))
	taken(t, next.Lock("theirs"))
}
