package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/fates"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/lock"
)

// ways are those in which an answer gets lost after its request was carried out.
var ways = map[string]fates.Fate{"cut": fates.CutAfter, "silence": fates.Silence}

// wired is a client whose requests meet faults, a plain client beside it, and a lock's name. The client has its lease.
func wired(t *testing.T) (faults *wire, c *etcdlock.Client, plain *clientv3.Client, name string) {
	t.Helper()
	faults, name = &wire{}, nameOf(t)
	endpoint := etcdtest.Shared(t).Endpoint()
	c = client(t, connect(t, endpoint, faults.options()...), etcdlock.Options{Lease: 2 * brief, Prefix: ownOf(name)})
	taken(t, c.Lock(name))
	return faults, c, connect(t, endpoint), name
}

// ownOf is the prefix of what a client keeps for itself, for a test with a lock of that name.
func ownOf(name string) string { return "own-of-" + name + "/" }

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
			stand(t, plain, name, 1)
			info, err := l.Inspect(within(t))
			require.NoError(t, err)
			require.Equal(t, hold.ID, info.Holders[0].ID)
			require.NoError(t, unlock())
			require.Empty(t, keysOf(t, plain, name+"/"))
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
			_, err := plain.Delete(within(t), ownOf(name)+"base")
			require.NoError(t, err)
			rule := faults.On(writing, fate)
			held, unlock = take(t, l)
			rule.Wait(t)
			require.Greater(t, fenceOf(t, l, held), before)
			stand(t, plain, name, 1)
			require.NoError(t, unlock())
			require.Empty(t, keysOf(t, plain, name+"/"))
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
			all, _ := clients(t, 2, etcdlock.Options{})
			take(t, all[0].Lock(name))
			got := waits(t, plain, all[1].Lock(name), 2)
			rule := faults.On(releasing, fate)
			require.NoError(t, c.Lock(name).Break(within(t)))
			rule.Wait(t)
			next := has(t, got)
			require.NoError(t, next.held.Err())
			stand(t, plain, name, 1)
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
			rule := faults.On(acquiring, fate)
			faults.OnEach(acquiring, fates.Lost, -1)
			ctx, cancel := context.WithCancel(within(t))
			got := make(chan error, 1)
			go func() {
				_, _, err := c.Lock(name).Lock(ctx)
				got <- err
			}()
			stand(t, plain, name, 1)
			cancel()
			require.ErrorIs(t, await(t, got, "it leaves"), context.Canceled)
			rule.Wait(t)
			faults.Off()
			stand(t, plain, name, 0)
			taken(t, c.Lock(name))
		})
	}
}

// A try may have the lock when something else fails that it needs: the keep-alive that proves the client's lease, or
// the base of tokens. It holds nothing then, and leaves nothing. (A server refuses a keep-alive that knows no leader,
// and may carry out the transaction that came beside it. The key was left behind then, for as long as the client
// lived.)
func TestATryOfWhichAPartIsRefused(t *testing.T) {
	t.Parallel()
	for part, kind := range map[string]string{"keep-alive": renewing, "base of tokens": writing} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			faults, c, plain, name := wired(t)
			_, unlock := take(t, c.Lock(name+"-other")) // for which the client's lease is renewed
			_, err := plain.Delete(within(t), ownOf(name)+"base")
			require.NoError(t, err)
			faults.OnEach(kind, fates.Refused, -1)
			l := c.Lock(name)
			eventually(t, func() bool {
				_, unlock, err := l.TryLock(within(t))
				if err == nil { // the lease was proven a moment ago
					require.NoError(t, unlock())
					return false
				}
				require.ErrorIs(t, err, lock.ErrUnavailable)
				return faults.Count(acquiring) > 2
			}, "a part of a try is refused")
			faults.Off()
			stand(t, plain, name, 0)
			taken(t, l)
			require.NoError(t, unlock())
		})
	}
}

// The caller may leave while its request is on the way, and the release of its id may arrive sooner. What the request
// takes all the same is released when it is answered.
func TestAnAcquisitionThatItsReleaseOvertakes(t *testing.T) {
	t.Parallel()
	faults, c, plain, name := wired(t)
	_, unlock := take(t, c.Lock(name+"-other")) // for which the client's lease is renewed
	rule := faults.On(acquiring, fates.Slow)
	ctx, cancel := context.WithCancel(within(t))
	got := make(chan error, 1)
	go func() {
		_, _, err := c.Lock(name).Lock(ctx)
		got <- err
	}()
	rule.Wait(t)
	cancel()
	require.ErrorIs(t, await(t, got, "it leaves"), context.Canceled)
	etcdtest.Eventually(t, func() bool { return faults.Count(releasing) > 0 }, "its id is released")
	rule.Arrive()
	etcdtest.Eventually(t, func() bool { return faults.Count(releasing) > 1 }, "its id is released again")
	stand(t, plain, name+"/", 0)
	taken(t, c.Lock(name))
	require.NoError(t, unlock())
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
			require.Empty(t, keysOf(t, plain, name+"/"))
		})
	}
}

// A release that arrives late, after another one did its work, ends no later hold of the same client, though that has
// the same key. (That of a Mutex of etcd's client does: etcd 22082, bug 4.)
func TestAReleaseThatArrivesLate(t *testing.T) {
	t.Parallel()
	faults, c, plain, name := wired(t)
	l := c.Lock(name)
	_, unlock := take(t, l)
	key := stand(t, plain, name, 1)
	rule := faults.On(releasing, fates.Late)
	require.NoError(t, unlock())
	held, unlock := take(t, l)
	require.Equal(t, key, stand(t, plain, name, 1))
	rule.Arrive()
	require.Equal(t, key, keysOf(t, plain, name+"/"))
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// givenUp has a try give up an acquisition that has not arrived, and waits until its id is sealed.
func givenUp(t *testing.T, faults *wire, c *etcdlock.Client, plain *clientv3.Client, name string) (
	arrives *fates.Rule, seal string,
) {
	t.Helper()
	arrives = faults.On(acquiring, fates.Late)
	faults.OnEach(acquiring, fates.Lost, -1)
	_, _, err := c.Lock(name).TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	faults.Off()
	return arrives, stand(t, plain, ownOf(name)+"sealed", 1)[0]
}

// An acquisition that arrives when its id was given up takes nothing. It would be a hold of which nobody knows, and
// that its client renews with all others.
func TestAnAcquisitionThatArrivesLate(t *testing.T) {
	t.Parallel()
	t.Run("sealed", func(t *testing.T) {
		t.Parallel()
		faults, c, plain, name := wired(t)
		arrives, _ := givenUp(t, faults, c, plain, name)
		arrives.Arrive()
		require.Empty(t, keysOf(t, plain, name+"/"))
		taken(t, c.Lock(name))
	})
	t.Run("without the seal", func(t *testing.T) { // so that the test above shows something
		t.Parallel()
		faults, c, plain, name := wired(t)
		arrives, seal := givenUp(t, faults, c, plain, name)
		_, err := plain.Delete(within(t), seal)
		require.NoError(t, err)
		arrives.Arrive()
		require.Len(t, keysOf(t, plain, name+"/"), 1)
	})
	t.Run("revoked", func(t *testing.T) {
		t.Parallel()
		faults, c, plain, name := wired(t)
		arrives, seal := givenUp(t, faults, c, plain, name)
		_, err := plain.Revoke(within(t), leaseOf(t, plain, seal))
		require.NoError(t, err)
		arrives.Arrive()
		require.Empty(t, keysOf(t, plain, name+"/"))
	})
	t.Run("its hold was lost", func(t *testing.T) {
		t.Parallel()
		faults, c, plain, name := wired(t)
		arrives := faults.On(acquiring, fates.Late)
		held, unlock := take(t, c.Lock(name))
		_, err := plain.Delete(within(t), stand(t, plain, name, 1)[0])
		require.NoError(t, err)
		_ = ended(t, held)
		require.ErrorIs(t, unlock(), lock.ErrLost)
		arrives.Arrive()
		ctx, cancel := context.WithTimeout(t.Context(), holding.Patience/3)
		defer cancel()
		_, unlock, err = c.Lock(name).Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, unlock())
		require.Len(t, keysOf(t, plain, ownOf(name)+"sealed/"), 1)
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		faults, c, plain, name := wired(t)
		arrives, _ := givenUp(t, faults, c, plain, name)
		require.NoError(t, c.Close())
		require.Equal(t, []string{ownOf(name) + "base"}, keysOf(t, plain, ownOf(name)), "the seals go with the client")
		arrives.Arrive()
		require.Empty(t, keysOf(t, plain, name+"/"))
	})
}

// While a client renews its lease, nothing but a release frees a lock. So a release that etcd does not answer is sent
// for much longer than a lease.
func TestAReleaseIsSentForAsLongAsItsClientLives(t *testing.T) {
	t.Parallel()
	faults := &wire{}
	c := client(t, connect(t, etcdtest.Shared(t).Endpoint(), faults.options()...),
		etcdlock.Options{Lease: brief, ReleaseTimeout: time.Second})
	all, plain := clients(t, 1, etcdlock.Options{})
	name := nameOf(t)
	other, _ := take(t, c.Lock(name+"-other"))
	_, unlock := take(t, c.Lock(name))
	failing := faults.OnEach(releasing, fates.Lost, -1)
	err := unlock()
	var release *lock.ReleaseError
	require.ErrorAs(t, err, &release)
	require.Zero(t, release.Until)
	require.ErrorContains(t, err, "until the store confirms it or the client is closed")
	for until := time.Now().Add(3 * brief); time.Now().Before(until); { // the outage itself
		failing.Wait(t)
	}
	require.NoError(t, other.Err())
	stand(t, plain, name, 1)
	faults.Off()
	taken(t, all[0].Lock(name))
}
