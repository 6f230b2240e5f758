package ensemble

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// fault is what becomes of a member.
type fault struct {
	begin, end func(l *lab, member int)
	leads      bool // it goes on to lead meanwhile
}

var faults = map[string]fault{
	"frozen": {
		begin: func(l *lab, member int) { l.Members[member].Freeze() },
		end:   func(l *lab, member int) { l.Members[member].Resume() },
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
		begin: func(l *lab, member int) { l.Cut(member, true); l.Paths[member].Blackhole(true) },
		end:   func(l *lab, member int) { l.Cut(member, false); l.Paths[member].Blackhole(false) },
	},
	"cut off from clients": {
		begin: func(l *lab, member int) { l.Paths[member].Blackhole(true) },
		end:   func(l *lab, member int) { l.Paths[member].Blackhole(false) },
		leads: true,
	},
}

// Whatever happens to the leader, another one is elected: holds stay, turns go on, and no two are live at the same
// time; neither when it happens, nor when the old leader comes back.
func TestTheLeaderFails(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, zktest.Options{})
			team, keeper := l.play(t), l.keep(t, "kept")
			keeper.Renewed(t, 1)
			leader := l.Leader(t)
			fault.begin(l, leader)
			if !fault.leads {
				l.Leader(t, leader)
			}
			team.GoesOn(t)
			keeper.Renewed(t, 1)
			fault.end(l, leader)
			team.GoesOn(t)
			keeper.Renewed(t, 2)
			require.NoError(t, keeper.Unlock())
			team.Judge(t)
		})
	}
}

// So it is with each of the others, to which clients may be attached.
func TestAFollowerFails(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, zktest.Options{})
			team, keeper := l.play(t), l.keep(t, "kept")
			keeper.Renewed(t, 1)
			leader := l.Leader(t)
			for member := range l.Members {
				if member != leader {
					fault.begin(l, member)
					team.GoesOn(t)
					keeper.Renewed(t, 1)
					fault.end(l, member)
					team.GoesOn(t)
				}
			}
			keeper.Renewed(t, 2)
			require.NoError(t, keeper.Unlock())
			team.Judge(t)
		})
	}
}

// A client that knows one server alone, and that is cut off from the others, is told before another client has its
// lock, and goes on when the server is back.
func TestAClientOfAServerThatIsCutOff(t *testing.T) {
	t.Parallel()
	l := open(t, zktest.Options{})
	follower := l.Follower(t)
	team := l.play(t)
	lone, other := l.client(t, zklock.Options{}, follower), l.client(t, zklock.Options{})
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
	team.GoesOn(t)
	l.Cut(follower, false)
	require.NoError(t, release())
	zktest.Eventually(t, func() bool {
		_, unlock, err := lone.Lock("a").TryLock(ctx)
		return err == nil && unlock() == nil
	}, "the server is back")
	team.Judge(t)
}

// Without a majority nothing is granted, and holders are told in time; with one again everything goes on. When all
// servers are restarted sooner than that, holds stay.
func TestTheMajorityIsGone(t *testing.T) {
	t.Parallel()
	l := open(t, zktest.Options{})
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
	c := l.client(t, zklock.Options{})
	_, _, err := c.Lock("kept").TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrUnavailable)
	restart(l.Members[1:]...)
	team.GoesOn(t)
	_, unlock, err := c.Lock("kept").Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, unlock())
	team.Judge(t)
}

// restart starts servers at the same time, of which none serves alone.
func restart(all ...*zktest.Server) {
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
