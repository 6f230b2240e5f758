package topologies

import (
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/rlock"
)

// Every lock keeps the contract on every topology where it makes sense.
func TestConformance(t *testing.T) {
	for _, top := range topologies {
		// All servers are up before the first case begins, so that none waits for its own to start.
		s := top.start(t)
		t.Cleanup(func() { s.clean(t) })
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			for _, k := range s.kinds() {
				t.Run(k.name, func(t *testing.T) {
					t.Parallel()
					conformance.RunPath(t, func(t testing.TB, lease time.Duration) conformance.Lab {
						return s.lab(t, k, lease)
					})
				})
			}
		})
	}
}

func (s *site) lab(t testing.TB, k kind, lease time.Duration) conformance.Lab {
	opts := rlock.ClientOptions{Lease: lease, MaxPoll: 200 * time.Millisecond}
	both := [2]*process{s.process(t, opts), s.process(t, opts)}
	return conformance.Lab{
		Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
			if client == 1 {
				return k.other(both[1], name, opts...)
			}
			return k.make(both[0], name, opts...)
		},
		Close:    func(client int) error { return both[client].close() },
		Sent:     func() int64 { return both[0].sent.Scripts() + both[1].sent.Scripts() },
		Path:     func(client int) *netfault.Path { return &both[client].path },
		Listener: func(client int) *conformance.Listener { return &both[client].listener },
		Stats:    func(client int) rlock.Stats { return both[client].stats() },
		Erase:    func(name string) { s.erase(t, k.keys(name)) },
		Rivals:   s.rivals(k, both),
		Lease:    lease,
		Lacks:    k.lacks,
	}
}

// rivals are the other kinds of locks that a name can have at which a kind stands.
func (s *site) rivals(k kind, both [2]*process) map[string]func(client int, name string) conformance.Lock {
	if s.nodes || k.patterns != nil {
		return nil
	}
	all := make(map[string]func(client int, name string) conformance.Lock)
	for _, other := range s.kinds() {
		if other.patterns == nil && !other.counts {
			all[other.name] = func(client int, name string) conformance.Lock { return other.make(both[client], name) }
		}
	}
	return all
}

// erase deletes keys behind the back of all clients.
func (s *site) erase(t testing.TB, keys []string) {
	t.Helper()
	var rdbs []redis.UniversalClient
	if s.nodes {
		for _, server := range s.servers {
			rdbs = append(rdbs, server.Client(t))
		}
	} else {
		rdbs = append(rdbs, s.connect(new(net.Dialer).DialContext))
	}
	for _, rdb := range rdbs {
		for _, key := range keys { // which may be in several slots
			require.NoError(t, rdb.Del(within(t), key).Err())
		}
		require.NoError(t, rdb.Close())
	}
}
