package topologies

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
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
					conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
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
		Close: func(client int) error { return both[client].close() },
		Sent:  func() int64 { return both[0].sent.Scripts() + both[1].sent.Scripts() },
		Lease: lease,
		Lacks: k.lacks,
	}
}
