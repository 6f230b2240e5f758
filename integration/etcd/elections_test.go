package etcd

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/lock"
)

// Whatever happens to the leader, another one is elected: holds stay, turns go on, and no two are live at the same time;
// neither when it happens, nor when the old leader comes back. A frozen one comes back within a lease: later it may end
// leases that the next leader has renewed (see "Servers" of package etcdlock, and the history of the site etcd-thawed; bug
// 61).
func TestTheLeaderFails(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		begin, end func(l *lab, member int)
		brief      bool // it must end within a lease
	}{
		"frozen": {
			begin: func(l *lab, member int) { l.Members[member].Freeze() },
			end:   func(l *lab, member int) { l.Members[member].Thaw() },
			brief: true,
		},
		"killed": {
			begin: func(l *lab, member int) { l.Members[member].Kill() },
			end:   func(l *lab, member int) { l.Members[member].Restart() },
		},
		"cut off from the others": {
			begin: func(l *lab, member int) { l.Cut(member, true) },
			end:   func(l *lab, member int) { l.Cut(member, false) },
		},
		"cut off from all": {
			begin: func(l *lab, member int) { l.Cut(member, true); l.paths[member].Blackhole(true) },
			end:   func(l *lab, member int) { l.Cut(member, false); l.paths[member].Blackhole(false) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			if fault.brief {
				l.lease = 4 * lease // a busy machine takes its time for what happens meanwhile
			}
			team, keeper := l.play(t), l.keep(t, "kept")
			keeper.Renewed(t, 1)
			leader := l.Leader(t)
			fault.begin(l, leader)
			l.Leader(t, leader)
			team.GoesOn(t)
			if !fault.brief {
				keeper.Renewed(t, 1)
			}
			fault.end(l, leader)
			team.GoesOn(t)
			keeper.Renewed(t, 2)
			require.NoError(t, keeper.Unlock())
			team.Judge(t)
		})
	}
}

// A leader whose disk hangs answers for a while as if it led. (Such a leader of etcd 3.4 renews leases that the next one
// has ended: etcd 15247, bug 61.)
func TestTheLeadersDiskHangs(t *testing.T) {
	t.Parallel()
	l := open(t, "--unsafe-no-fsync=false")
	l.lease = 2 * lease // the others write to the disk that all tests have
	team, keeper := l.play(t), l.keep(t, "kept")
	leader := l.Leader(t)
	lone := l.client(t, etcdlock.Options{}, leader)
	held, unlock, err := lone.Lock("lone", lock.MaxWait(patience)).Lock(context.Background())
	require.NoError(t, err)
	resume := l.Members[leader].HangDisk(t)
	l.Leader(t, leader)
	team.GoesOn(t)
	keeper.Renewed(t, 2)
	_, release, err := l.client(t, etcdlock.Options{}).Lock("lone", lock.MaxWait(patience)).Lock(context.Background())
	require.NoError(t, err)
	require.ErrorIs(t, context.Cause(held), lock.ErrLost, "it was told before")
	resume()
	require.NoError(t, release())
	require.ErrorIs(t, unlock(), lock.ErrLost)
	team.GoesOn(t)
	keeper.Renewed(t, 2)
	require.NoError(t, keeper.Unlock())
	team.Judge(t)
}

// A client that knows one server alone, and that is cut off from the others, is told before another client has its lock,
// and goes on when the server is back.
func TestAClientOfAServerThatIsCutOff(t *testing.T) {
	t.Parallel()
	l := open(t)
	follower := (l.Leader(t) + 1) % len(l.Members)
	team := l.play(t)
	lone, other := l.client(t, etcdlock.Options{}, follower), l.client(t, etcdlock.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	held, unlock, err := lone.Lock("a").Lock(ctx)
	require.NoError(t, err)
	l.Cut(follower, true)
	_, release, err := other.Lock("a").Lock(ctx)
	require.NoError(t, err)
	var loss *lock.LostError
	require.ErrorAs(t, context.Cause(held), &loss, "it was told before")
	require.Equal(t, lock.LossExpired, loss.Reason)
	require.ErrorIs(t, unlock(), lock.ErrLost)
	_, _, err = lone.Lock("b").TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, "no leader", "it is refused, and not held up")
	team.GoesOn(t)
	l.Cut(follower, false)
	require.NoError(t, release())
	etcdtest.Eventually(t, func() bool {
		_, unlock, err := lone.Lock("a").TryLock(ctx)
		return err == nil && unlock() == nil
	}, "the server is back")
	team.Judge(t)
}

// Without a majority nothing is granted, and holders are told in time; with one again everything goes on. When all
// servers are restarted sooner than that, holds stay.
func TestTheMajorityIsGone(t *testing.T) {
	t.Parallel()
	l := open(t)
	team, kept := l.play(t), l.keep(t, "kept")
	for _, s := range l.Members {
		s.Kill()
	}
	restart(l.Members...)
	team.GoesOn(t)
	kept.Renewed(t, 2)

	for _, s := range l.Members[1:] {
		s.Kill()
	}
	<-kept.Held.Done()
	require.ErrorIs(t, context.Cause(kept.Held), lock.ErrLost)
	require.ErrorIs(t, kept.Unlock(), lock.ErrLost)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := l.client(t, etcdlock.Options{})
	_, _, err := c.Lock("kept").TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrUnavailable)
	restart(l.Members[1:]...)
	team.GoesOn(t)
	_, unlock, err := c.Lock("kept").Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, unlock())
	team.Judge(t)
}

// restart starts servers at the same time, of which none is well alone.
func restart(all ...*etcdtest.Server) {
	done := make(chan struct{})
	for _, s := range all {
		go func() {
			s.Restart()
			done <- struct{}{}
		}()
	}
	for range all {
		<-done
	}
}
