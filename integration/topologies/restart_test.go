package topologies

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// restartLease is longer than a node takes to come back: one of a cluster accepts no writes for two
// seconds.
const restartLease = 9 * time.Second

// guard is how long a restarted server of a quorum has no vote here.
const guard = 2 * time.Second

// persistent makes servers come back with their data.
func persistent() redistest.Option {
	return redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always")
}

// One node is restarted, and then all of them, one after the other, while locks of every kind are held and
// waited for. That loses no lock where nodes keep their data, or a quorum of them always stands; a waiter
// gets the lock when the holder leaves, and not earlier.
func TestRestarts(t *testing.T) {
	for _, top := range topologies {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			var s *site
			opts := rlock.ClientOptions{Lease: restartLease, MaxPoll: 300 * time.Millisecond}
			if top.name == "five nodes" {
				s = top.start(t) // without persistence
				opts.Lease = guard
			} else {
				s = top.start(t, persistent())
			}
			t.Cleanup(func() { s.clean(t) })
			s.patient(t)
			holder, waiter := s.process(t, opts), s.process(t, opts)
			if s.nodes {
				guarded(t, s, holder, opts)
				guarded(t, s, waiter, opts)
			}
			all := s.sitters(t, holder, "held")
			var came []<-chan stay
			for _, sat := range all {
				sat.sit(t)
				came = append(came, waiter.wait(t, sat.kind.other(waiter, sat.name)))
			}
			half := len(all) / 2
			if half > 0 {
				s.restart(t, s.servers[0])
				leave(t, all[:half], came[:half])
			}
			for _, server := range s.servers {
				s.restart(t, server)
			}
			leave(t, all[half:], came[half:])
			require.Empty(t, holder.losses())
			require.Empty(t, waiter.losses())
		})
	}
}

// patient keeps Sentinels from mistaking a restart for a death.
func (s *site) patient(t *testing.T) {
	t.Helper()
	if s.sentinel == nil {
		return
	}
	for _, sentinel := range s.sentinel.Sentinels() {
		rdb := sentinel.Client(t)
		name := s.sentinel.Options().MasterName
		require.NoError(t, rdb.Do(within(t), "sentinel", "set", name, "down-after-milliseconds", 60_000).Err())
		require.NoError(t, rdb.Close())
	}
}

// guarded makes a process of a quorum use a restart guard: the site's servers were up for long enough.
func guarded(t *testing.T, s *site, p *process, opts rlock.ClientOptions) {
	t.Helper()
	for _, server := range s.servers {
		settled(t, server)
	}
	opts.Logger, opts.Observer = quiet, p.observer()
	p.quorum = p.openQuorum(redlock.Options{ClientOptions: opts, RestartGuard: guard})
}

// settled waits until a server was up for longer than the guard time.
func settled(t *testing.T, server *redistest.Server) {
	t.Helper()
	redistest.Eventually(t, patience, func() bool {
		var up int
		_, err := fmt.Sscan(server.Info(t, "server")["uptime_in_seconds"], &up)
		return err == nil && up > int(guard/time.Second)
	}, "the server does not stay up")
}

// restart kills a server, starts it again and returns when it works again.
func (s *site) restart(t *testing.T, server *redistest.Server) {
	t.Helper()
	server.Kill()
	server.Restart()
	switch {
	case s.nodes:
		settled(t, server)
	case s.cluster != nil:
		redistest.Eventually(t, patience, func() bool {
			return server.Info(t, "cluster")["cluster_enabled"] == "1" && s.cluster.Agrees(t)
		}, "the cluster does not work again")
	default:
		redistest.Eventually(t, patience, func() bool {
			info := server.Info(t, "replication")
			return info["role"] == "master" || info["master_link_status"] == "up"
		}, "the replica does not follow")
	}
}

// leave unlocks all holds and waits until the waiters have got the locks.
func leave(t *testing.T, all []*sitter, came []<-chan stay) {
	t.Helper()
	for i, sat := range all {
		require.NoError(t, sat.stay.ctx.Err(), "%s: %v", sat.name, context.Cause(sat.stay.ctx))
		select {
		case o := <-came[i]:
			require.Fail(t, "two are inside", "%s: %v", sat.name, o.err)
		default:
		}
		require.NoError(t, sat.stay.unlock(), sat.name)
		require.NoError(t, arrives(t, came[i]).unlock(), sat.name)
	}
}

// A server that comes back empty has forgotten everything: every holder learns of the loss within its
// lease, the waiters get the lock, and fencing tokens still grow.
func TestARestartWithoutItsData(t *testing.T) {
	t.Parallel()
	s := single(t)
	t.Cleanup(func() { s.clean(t) })
	opts := rlock.ClientOptions{Lease: failoverLease, MaxPoll: 300 * time.Millisecond}
	holder, waiter := s.process(t, opts), s.process(t, opts)
	all := s.sitters(t, holder, "held")
	var came []<-chan stay
	fences := make(map[string]int64)
	for _, sat := range all {
		sat.sit(t)
		if hold, err := sat.stay.lock.Held(sat.stay.ctx); err == nil {
			fences[sat.name] = hold.Fence
		}
		came = append(came, waiter.wait(t, sat.kind.other(waiter, sat.name)))
	}
	s.servers[0].Kill()
	s.servers[0].Restart()
	for i, sat := range all {
		sat.told(t)
		if sat.kind.name == "semaphore" { // its capacity is lost
			s.permits.Delete(sat.name)
			waiter.keep(sat.name)
		}
		o := arrives(t, came[i])
		if hold, err := o.lock.Held(o.ctx); err == nil && !strings.HasPrefix(sat.kind.name, "read") {
			require.Greater(t, hold.Fence, fences[sat.name], sat.name)
		}
		require.NoError(t, o.unlock())
	}
}
