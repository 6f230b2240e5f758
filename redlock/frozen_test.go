package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Need 13: a node that does not answer costs nobody any time, neither at acquisition nor at release, and is
// sent one probe: nothing piles up that would run when it thaws.
func TestAFrozenNodeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	o := options(6 * time.Second)
	client := l.client(l.direct(), o)
	lock := redlock.New(client, "frozen")
	const before = 50
	once(t, lock)
	start := time.Now()
	for range before {
		once(t, lock)
	}
	healthy := time.Since(start) / before
	l.soonOn("frozen")
	frozen := l.servers[4]
	seen := frozen.Monitor(t)
	frozen.Stop()
	// For so long that its connection is given up, and others are tried.
	rounds := 0
	start = time.Now()
	for ; time.Since(start) < 3*o.Lease/6; rounds++ {
		once(t, lock)
	}
	// Waiting for it even once in ten rounds would show.
	most := max(o.NodeTimeout/10, 3*healthy)
	require.Less(t, time.Since(start), time.Duration(rounds)*most, "%d rounds; %v each before", rounds, healthy)

	frozen.Continue()
	l.renewedBack(client, 4)
	l.soonOn("frozen")
	// Only the one probe was under way when the node froze, and it is released. Another one may have been under
	// way when it thawed, because the connection of the first was given up. All other requests went to other
	// nodes.
	probes, others := 0, 0
	for _, line := range seen.Lines() {
		switch {
		case !strings.Contains(line, `"evalsha"`) || !strings.Contains(line, `"frozen"`):
		case strings.Contains(line, luacall.SHA("quorum_acquire")):
			probes++
		default:
			others++
		}
	}
	require.LessOrEqual(t, probes, 2, "%d rounds without it", rounds)
	require.LessOrEqual(t, others, 6, "%d rounds without it", rounds)
}

// renewedBack waits until node i takes part in a new hold again.
func (l *lab) renewedBack(client *redlock.Client, i int) {
	l.t.Helper()
	name := fmt.Sprintf("back:%d", i)
	lock := redlock.New(client, name)
	_, unlock := take(l.t, lock)
	l.soonAt(name, i)
	require.NoError(l.t, unlock())
}

// The loss of two of five nodes does not matter: holds stay held over many leases, and other callers still lock
// and unlock.
func TestTwoOfFiveNodesFrozenOrKilled(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(l *lab, i int){
		"frozen":     func(l *lab, i int) { l.servers[i].Stop() },
		"killed":     func(l *lab, i int) { l.servers[i].Kill() },
		"blackholed": func(l *lab, i int) { l.proxies[i].Blackhole(true) },
		"refusing":   func(l *lab, i int) { l.proxies[i].Refuse(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 5)
			client := l.client(l.proxied(), options(1500*time.Millisecond))
			kept, other := redlock.New(client, "kept"), redlock.New(client, "other")
			ctx, unlock := take(t, kept)
			fence := once(t, other)
			away(l, 1)
			away(l, 3)
			l.renewedAgain("kept", 5)
			for range 20 {
				next := once(t, other)
				require.Greater(t, next, fence)
				fence = next
			}
			require.Equal(t, 1, alive(t, kept, ctx).Count)
			require.NoError(t, unlock())
			require.Empty(t, l.events.lost)
			if name == "frozen" {
				l.servers[1].Continue()
				l.servers[3].Continue()
				l.soonOn("kept")
				l.soonOn("other")
			}
		})
	}
}

// With three of five nodes down there is no quorum: holds are lost in time and report it, and nobody gets the
// lock; when the nodes are back everything goes on, and nothing is left over.
func TestThreeOfFiveNodesAway(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	const lease = 1500 * time.Millisecond
	client := l.client(l.proxied(), options(lease))
	lock, other := redlock.New(client, "lost"), redlock.New(client, "other")
	ctx, unlock := take(t, lock)
	until := alive(t, lock, ctx).ValidUntil
	l.renewedAgain("lost", 1)
	for i := range 3 {
		l.proxies[i].Blackhole(true)
	}
	var lost *rlock.LostError
	require.ErrorAs(t, ended(t, ctx), &lost)
	require.Equal(t, rlock.LossExpired, lost.Reason)
	require.True(t, time.Now().After(until), "it was renewed before")
	require.ErrorIs(t, unlock(), rlock.ErrLost)

	_, _, err := other.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NotErrorIs(t, err, rlock.ErrBusy)
	require.ErrorContains(t, err, "no quorum")
	limited, cancel := context.WithTimeout(context.Background(), lease/3)
	defer cancel()
	_, _, err = other.Lock(limited)
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	for i := range 3 {
		l.proxies[i].Blackhole(false)
	}
	once(t, other)
	once(t, lock)
	l.soonOn("lost")
	l.soonOn("other")
}

// Without a quorum there is nothing to wait for: once it is known which nodes do not answer, a try fails at once.
func TestWithoutAQuorumNobodyWaits(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	o := options(30 * time.Second) // so that the connections stay, and the nodes are known to be silent
	lock := redlock.New(l.client(l.direct(), o), "hopeless")
	once(t, lock)
	l.soonOn("hopeless")
	l.servers[0].Stop()
	l.servers[1].Stop()
	_, _, err := lock.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	const tries = 10
	start := time.Now()
	for range tries {
		_, _, err := lock.TryLock(within(t))
		require.ErrorIs(t, err, rlock.ErrUnavailable)
	}
	require.Less(t, time.Since(start), tries*o.NodeTimeout/2, "%d tries", tries)
	l.servers[0].Continue()
	l.servers[1].Continue()
	once(t, lock)
	l.soonOn("hopeless")
}
