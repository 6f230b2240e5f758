package redlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// soon waits until an observer was told of a script as often as nodes were asked by it, which is at least so often, and
// that it failed as often.
func soon(t *testing.T, log *observertest.Commands, script string, asked func() int, least, failed int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("told: %+v", log.Of(""))
		}
	}()
	redistest.Eventually(t, patience, func() bool {
		n := asked()
		return n >= least && len(log.Of(script)) == n && log.Failed(script) >= failed
	}, script+" should be told once each time")
	require.Equal(t, failed, log.Failed(script))
}

// Every script that is sent to a node is told once, also where the node refuses it, loses its answer, or answers
// when the caller has gone on without it.
func TestCommandsToEachNodeAreTold(t *testing.T) {
	t.Parallel()
	const nodes = 3
	for name, way := range map[string]struct {
		action func(thaw *faultproxy.Gate) faultproxy.Action
		fails  int
	}{
		"answered": {func(*faultproxy.Gate) faultproxy.Action { return faultproxy.Pass }, 0},
		"refused": {func(*faultproxy.Gate) faultproxy.Action {
			return faultproxy.AnswerError("NOPERM this user has no permissions")
		}, 1},
		"cut off": {func(*faultproxy.Gate) faultproxy.Action { return faultproxy.CutAfter }, 1},
		"late":    {func(thaw *faultproxy.Gate) faultproxy.Action { return faultproxy.HoldReply(thaw) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, log, thaw := newLab(t, nodes), &observertest.Commands{}, faultproxy.NewGate()
			o := options(time.Minute)
			o.Observer = &rlock.Observer{Command: log.Add}
			client := l.client(l.proxied(), o)
			lock := redlock.New(client, "told")
			once(t, lock) // the servers know the scripts, and the connections stand
			l.soonOn("told")
			asked := func() int {
				return l.proxies[0].Requests(acquires) + l.proxies[1].Requests(acquires) + l.proxies[2].Requests(acquires)
			}
			soon(t, log, "quorum_acquire", asked, nodes, 0) // that a node answered NOSCRIPT once is no failure
			before := asked()
			l.proxies[0].On(acquires, way.action(thaw)).Times(1)
			_, unlock := take(t, lock)
			thaw.Open()
			// A node that answers late may be asked once more.
			soon(t, log, "quorum_acquire", asked, before+nodes, way.fails)
			require.NoError(t, unlock())
		})
	}
}

// An observer that blocks delays no command, and Close does not wait for it forever.
func TestAnObserverOfCommandsDelaysNone(t *testing.T) {
	t.Parallel()
	l, done := newLab(t, 3), make(chan struct{})
	o := options(time.Minute)
	o.Observer = &rlock.Observer{Command: func(rlock.Command) { <-done }}
	client := l.client(l.direct(), o)
	for range 3 {
		once(t, redlock.New(client, "undelayed"))
	}
	close(done)
	require.NoError(t, client.Close())
}
