package rwlock_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// joinTime is for how long a grant is joined where a request takes no time.
const joinTime = 8 * time.Millisecond

// asEver is long after.
const asEver = time.Second

// joinLab is a lock on a simulated Redis, in virtual time. It takes no time, except for those who are far away.
type joinLab struct {
	*lab
	sim *simredis.Server

	before int // releases of readers before the test began

	mu    sync.Mutex     // guards all below
	sent  map[string]int // by script
	fault func(script string) simredis.Verdict
}

var joinScripts = func() map[string]string {
	names := make(map[string]string)
	for _, name := range []string{
		"rw_read", "rw_read_release", "rw_read_renew", "rw_read_adopt",
		"rw_write", "rw_write_release", "rw_write_renew",
	} {
		names[luacall.SHA(name)] = name
	}
	return names
}()

func inJoinLab(t *testing.T, test func(t *testing.T, l *joinLab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := simredis.New(t)
		l := &joinLab{lab: &lab{T: t, rdb: sim.Client(), name: "book"}, sim: sim, sent: make(map[string]int)}
		sim.SetFault(l.decide)
		warm := l.near(rlock.ClientOptions{}) // whose scripts the server learns
		w := warm.write()
		r := warm.take(warm.Read(), context.WithoutCancel(w.ctx))
		for _, h := range []hold{w, r} {
			h.frees(t)
		}
		l.before = l.runs("rw_read_release")
		test(t, l)
	})
}

func (l *joinLab) decide(_ int, args []string) simredis.Verdict {
	script := ""
	if len(args) > 1 && strings.EqualFold(args[0], "evalsha") {
		script = joinScripts[args[1]]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if script == "" {
		return simredis.Pass
	}
	l.sent[script]++
	if l.fault != nil {
		return l.fault(script)
	}
	return simredis.Pass
}

// suffers has a verdict on all runs of a script from now on.
func (l *joinLab) suffers(script string, verdict simredis.Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = func(run string) simredis.Verdict {
		if run == script {
			return verdict
		}
		return simredis.Pass
	}
}

func (l *joinLab) heals() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = nil
}

// runs is how often the scripts were sent, or all of them.
func (l *joinLab) runs(scripts ...string) (runs int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for script, n := range l.sent {
		if len(scripts) == 0 || slices.Contains(scripts, script) {
			runs += n
		}
	}
	return runs
}

// near is a client to which nothing takes time, and far one that is a round trip away.
func (l *joinLab) near(opts rlock.ClientOptions, lockOpts ...rlock.Option) *peer {
	l.Helper()
	return l.peerOver(l.sim.Client(), opts, lockOpts...)
}

func (l *joinLab) far(trip time.Duration, opts rlock.ClientOptions) *peer {
	l.Helper()
	rdb := redis.NewClient(l.sim.FarOptions(trip))
	l.Cleanup(func() { _ = rdb.Close() })
	p := l.peerOver(rdb, opts)
	p.write().frees(l) // it is connected, and knows the server's time
	return p
}

// readers are as many that have one grant together. The first asked for it.
func (l *joinLab) readers(p *peer, many int) []hold {
	l.Helper()
	holds := []hold{p.read()}
	for range many - 1 {
		holds = append(holds, p.read())
		require.Equal(l, holds[0].known(l).ID, holds[len(holds)-1].known(l).ID)
	}
	return holds
}

// releases is how often readers were released.
func (l *joinLab) releases() int { return l.runs("rw_read_release") - l.before }

// ends asserts that nothing is left, and that the lock is free.
func (l *joinLab) ends() {
	l.Helper()
	l.clean()
	l.near(rlock.ClientOptions{}).write().frees(l)
}

// counts asserts that Redis knows of one reader, with so many levels, when there was time to tell it.
func (l *joinLab) counts(id, count string) {
	l.Helper()
	time.Sleep(asEver)
	require.Equal(l, map[string]string{"mode": "read", id: count}, l.hash())
}

// heard asserts what the observer was told, when there was time to tell it.
func (p *peer) heard(held, lost, ended int) {
	p.Helper()
	time.Sleep(ms)
	p.note(func() {
		require.Equal(p, []int{held, lost, ended}, []int{p.held, len(p.lost), p.ended})
	})
}
