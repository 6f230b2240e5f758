package zklock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// TestConformance holds the lock to what every lock of the module promises; terms of leaders nest (defect G63).
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		limits := conformance.Leases{Least: brief}
		lease = limits.Fit(lease)
		var both [2]*zklock.Client
		var paths [2]netfault.Path
		var sent [2]wire
		var listeners [2]conformance.Listener
		plain := connect(t, zktest.Shared(t).Addr())
		for i := range both {
			sent[i].dial = paths[i].Dial
			both[i] = client(t, zklock.Options{
				Lease: lease, MaxPoll: time.Second, Dial: sent[i].Dial,
				Observer: listeners[i].Observer(), Logger: listeners[i].Logger(),
			})
		}
		return conformance.Lab{
			Lock: func(n int, name string, opts ...lock.Option) conformance.Lock {
				return both[n].Lock(name, opts...)
			},
			Close:    func(n int) error { return both[n].Close() },
			Path:     func(n int) *netfault.Path { return &paths[n] },
			Listener: func(n int) *conformance.Listener { return &listeners[n] },
			Stats:    func(n int) lock.Stats { return both[n].Stats() },
			Erase: func(name string) {
				for _, one := range plain.children(t, pathOf(name)) {
					plain.deletes(t, one.path)
				}
			},
			Sent: func() int64 { return sent[0].Total() + sent[1].Total() }, Lease: lease, Leases: limits,
			Lacks: conformance.Moves | conformance.MinHolds | conformance.Tries | conformance.Keeping |
				conformance.Standing,
		}
	})
}
