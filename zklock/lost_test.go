package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/fates"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// ways are those in which an answer gets lost after its request was carried out.
var ways = map[string]fates.Fate{"cut": fates.CutAfter, "silence": fates.Silence}

// wired is a client whose requests meet faults, a plain client beside it, and a lock's name. The client has its
// session.
func wired(t *testing.T) (faults *wire, c *zklock.Client, plain *plain, name string) {
	t.Helper()
	faults, name = &wire{}, nameOf(t)
	c = client(t, zklock.Options{Lease: 2 * brief, Own: "/own-of-" + name, Dial: faults.Dial})
	taken(t, c.Lock(name))
	return faults, c, connect(t, zktest.Shared(t).Addr()), name
}

// failures are the ways in which a request gets lost, or its answer.
var failures = map[string]fates.Fate{"cut": fates.CutAfter, "silence": fates.Silence, "lost": fates.Lost}

// An acquisition whose answer is lost is held once, by the caller that asked for it.
func TestAnAcquisitionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			faults, c, plain, name := wired(t)
			rule := faults.On(acquiring, fate)
			l := c.Lock(name)
			held, unlock := take(t, l)
			rule.Wait(t)
			hold, err := l.Held(held)
			require.NoError(t, err)
			plain.stand(t, pathOf(name), 1)
			info, err := l.Inspect(within(t))
			require.NoError(t, err)
			require.Equal(t, hold.ID, info.Holders[0].ID)
			require.NoError(t, unlock())
			require.Empty(t, plain.children(t, pathOf(name)))
		})
	}
}

// A lock whose base of tokens has to be made is granted once, though the answer to that is lost, with a token above it.
func TestABaseWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			faults, c, plain, name := wired(t)
			l := c.Lock(name)
			held, unlock := take(t, l)
			before := fenceOf(t, l, held)
			require.NoError(t, unlock())
			plain.deletes(t, "/own-of-"+name+"/base")
			rule := faults.On(making, fate)
			held, unlock = take(t, l)
			rule.Wait(t)
			require.Greater(t, fenceOf(t, l, held), before)
			plain.stand(t, pathOf(name), 1)
			require.NoError(t, unlock())
			require.Empty(t, plain.children(t, pathOf(name)))
		})
	}
}

// A lock of another client is broken once, though the answer is lost: the holder that comes next keeps it.
func TestABreakWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			faults, c, plain, name := wired(t)
			all, _ := clients(t, 2, zklock.Options{})
			take(t, all[0].Lock(name))
			got := waits(t, plain, all[1].Lock(name), 2)
			rule := faults.On(releasing, fate)
			require.NoError(t, c.Lock(name).Break(within(t)))
			rule.Wait(t)
			next := has(t, got)
			require.NoError(t, next.held.Err())
			plain.stand(t, pathOf(name), 1)
			require.NoError(t, next.unlock())
		})
	}
}

// What was taken for a caller that has left is released.
func TestAnAcquisitionWhoseCallerLeft(t *testing.T) {
	t.Parallel()
	for way, fate := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			faults, c, plain, name := wired(t)
			_, theirs := take(t, client(t, zklock.Options{}).Lock(name))
			rule := faults.On(acquiring, fate)
			ctx, cancel := context.WithCancel(within(t))
			got := make(chan error, 1)
			go func() {
				_, _, err := c.Lock(name).Lock(ctx)
				got <- err
			}()
			plain.stand(t, pathOf(name), 2)
			cancel()
			require.ErrorIs(t, await(t, got, "it leaves"), context.Canceled)
			rule.Wait(t)
			plain.stand(t, pathOf(name), 1)
			require.NoError(t, theirs())
			taken(t, c.Lock(name))
		})
	}
}

// A release whose answer is lost is no loss.
func TestAReleaseWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			faults, c, plain, name := wired(t)
			_, unlock := take(t, c.Lock(name))
			rule := faults.On(releasing, fate)
			require.NoError(t, unlock())
			rule.Wait(t)
			require.Empty(t, plain.children(t, pathOf(name)))
		})
	}
}

// Nor is one whose answer is lost, and that cannot be sent again at once.
func TestAReleaseThatCannotBeSentAgain(t *testing.T) {
	t.Parallel()
	faults, c, plain, name := wired(t)
	_, unlock := take(t, c.Lock(name))
	rule := faults.On(releasing, fates.CutAfter)
	faults.OnEach(attaching, fates.Slow, -1) // a handshake waits for longer than the request
	time.AfterFunc(brief, faults.Off)
	require.NoError(t, unlock())
	rule.Wait(t)
	require.Empty(t, plain.children(t, pathOf(name)))
}

// A release that arrives late, after another one did its work, ends no later hold of the same client.
func TestAReleaseThatArrivesLate(t *testing.T) {
	t.Parallel()
	faults, c, plain, name := wired(t)
	l := c.Lock(name)
	_, unlock := take(t, l)
	rule := faults.On(releasing, fates.Late)
	require.NoError(t, unlock())
	held, unlock := take(t, l)
	node := plain.stand(t, pathOf(name), 1)
	rule.Arrive()
	require.Equal(t, node, plain.children(t, pathOf(name)))
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// An acquisition that arrives when its session was attached anew, or has ended, takes nothing. It would be a hold of
// which nobody knows, and that its client renews with all others.
func TestAnAcquisitionThatArrivesLate(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(t *testing.T, c *zklock.Client, name string){
		"attached anew": func(t *testing.T, c *zklock.Client, name string) { taken(t, c.Lock(name)) },
		"closed":        func(t *testing.T, c *zklock.Client, _ string) { require.NoError(t, c.Close()) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			faults, c, plain, name := wired(t)
			rule := faults.On(acquiring, fates.Late)
			failing := faults.OnEach(attaching, fates.Lost, -1)
			_, _, err := c.Lock(name).TryLock(within(t))
			require.ErrorIs(t, err, lock.ErrUnavailable)
			failing.Wait(t)
			faults.Off()
			happens(t, c, name)
			rule.Arrive()
			require.Empty(t, plain.children(t, pathOf(name)))
		})
	}
}

// An acquisition that was carried out, and of which that could not be found out, is released when it can, though its
// client lives, and renews all that it has.
func TestAnAcquisitionThatCannotBeSettled(t *testing.T) {
	t.Parallel()
	faults, c, plain, name := wired(t)
	held, unlock := take(t, c.Lock(name+"-other"))
	rule := faults.On(acquiring, fates.CutAfter)
	faults.OnEach(attaching, fates.Lost, -1)
	_, _, err := c.Lock(name).TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	rule.Wait(t)
	faults.Off()
	looks := faults.Count(sweeping)
	eventually(t, func() bool { return faults.Count(sweeping) >= looks+3 }, "the session is attached again and again")
	require.Empty(t, plain.children(t, pathOf(name)))
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// A handshake that was given up and arrives late takes the session away from its connection. Nothing is lost by that.
func TestAHandshakeThatArrivesLate(t *testing.T) {
	t.Parallel()
	faults, c, plain, name := wired(t)
	held, unlock := take(t, c.Lock(name))
	rule := faults.On(attaching, fates.Late)
	rule.Wait(t) // a renewal, of which the next attempt is heard
	before := faults.Count(sweeping)
	eventually(t, func() bool { return faults.Count(sweeping) > before }, "it is renewed")
	rule.Arrive()
	taken(t, c.Lock(name+"-other"))
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	require.Empty(t, plain.children(t, pathOf(name)))
}

// A node of its session that a client does not know stands for a third of a lease at most: the client deletes it, and
// says so.
func TestANodeThatIsNobodys(t *testing.T) {
	t.Parallel()
	var said textlog.Log
	faults, name := &wire{}, nameOf(t)
	c := client(t, zklock.Options{Lease: brief, Logger: said.Logger(), Dial: faults.Dial})
	plain := connect(t, zktest.Shared(t).Addr())
	held, unlock := take(t, c.Lock(name))
	taken(t, c.Lock(name+"-phantom"))
	faults.stands(t, pathOf(name+"-phantom")+"/phantom-lock-")
	plain.stand(t, pathOf(name+"-phantom"), 1)
	looks := faults.Count(sweeping)
	eventually(t, func() bool { return faults.Count(sweeping) >= looks+4 }, "the session is attached again and again")
	require.Empty(t, plain.children(t, pathOf(name+"-phantom")))
	require.Contains(t, said.String(), "that it does not know")
	require.Contains(t, said.String(), "phantom-lock-")
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// While a client renews its session, nothing but a release frees a lock. So a release that ZooKeeper does not answer is
// sent for much longer than a lease.
func TestAReleaseIsSentForAsLongAsItsClientLives(t *testing.T) {
	t.Parallel()
	faults := &wire{}
	c := client(t, zklock.Options{Lease: 2 * brief, ReleaseTimeout: time.Second, Dial: faults.Dial})
	all, plain := clients(t, 1, zklock.Options{})
	name := nameOf(t)
	other, _ := take(t, c.Lock(name+"-other"))
	_, unlock := take(t, c.Lock(name))
	failing := faults.OnEach(releasing, fates.Lost, -1)
	err := unlock()
	var release *lock.ReleaseError
	require.ErrorAs(t, err, &release)
	require.Zero(t, release.Until)
	require.ErrorContains(t, err, "until the store confirms it or the client is closed")
	for until := time.Now().Add(4 * brief); time.Now().Before(until); { // the outage itself
		failing.Wait(t)
	}
	require.NoError(t, other.Err())
	plain.stand(t, pathOf(name), 1)
	faults.Off()
	taken(t, all[0].Lock(name))
}
