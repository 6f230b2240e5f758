package redlock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// commandLog remembers what an observer is told of commands.
type commandLog struct {
	mu   sync.Mutex // guards told
	told []rlock.Command
}

func (l *commandLog) add(c rlock.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, c)
}

// of counts the events of a script, and those with an error.
func (l *commandLog) of(script string) (all, failed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.told {
		if c.Script != script {
			continue
		}
		all++
		if c.Err != nil {
			failed++
		}
	}
	return all, failed
}

// soon waits until a script was told as often as this, and failed as often.
func (l *commandLog) soon(t *testing.T, script string, all, failed int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Logf("told: %+v", l.told)
		}
	}()
	redistest.Eventually(t, patience, func() bool {
		a, f := l.of(script)
		return a >= all && f >= failed
	}, script+" should be told")
	a, f := l.of(script)
	require.Equal(t, []int{all, failed}, []int{a, f}, script)
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
			l, log, thaw := newLab(t, nodes), &commandLog{}, faultproxy.NewGate()
			o := options(time.Minute)
			o.Observer = &rlock.Observer{Command: log.add}
			client := l.client(l.proxied(), o)
			lock := redlock.New(client, "told")
			once(t, lock) // the servers know the scripts, and the connections stand
			l.soonOn("told")
			sent := l.proxies[0].Requests(acquires) + l.proxies[1].Requests(acquires) + l.proxies[2].Requests(acquires)
			log.soon(t, "quorum_acquire", sent, 0) // that a node answered NOSCRIPT once is no failure
			l.proxies[0].On(acquires, way.action(thaw)).Times(1)
			_, unlock := take(t, lock)
			thaw.Open()
			log.soon(t, "quorum_acquire", sent+nodes, way.fails)
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
