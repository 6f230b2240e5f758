package etcdlock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		limits := conformance.Leases{Least: brief, Step: time.Second}
		lease = limits.Fit(lease)
		sent := &wire{}
		var both [2]*etcdlock.Client
		for i := range both {
			both[i] = client(t, connect(t, etcdtest.Shared(t).Endpoint(), sent.options()...),
				etcdlock.Options{Lease: lease, MaxPoll: time.Second})
		}
		return conformance.Lab{
			Lock: func(n int, name string, opts ...lock.Option) conformance.Lock {
				return both[n].Lock(name, opts...)
			},
			Close: func(n int) error { return both[n].Close() },
			Sent:  sent.total, Lease: lease, Leases: limits,
			Lacks: conformance.Moves | conformance.MinHolds | conformance.Tries,
		}
	})
}
