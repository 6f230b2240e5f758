package rlock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestConformance holds the reentrant lock to what every lock of the module promises; need 17 is among
// it, and need 18: unlocking from another goroutine, and queueing without the hold's context; and terms of
// leaders that nest (defect G63).
func TestConformance(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		lab, clients := onredis.Lab(t, server.Addr(), rlock.ClientOptions{Lease: lease})
		lab.Lock = func(client int, name string, opts ...rlock.Option) conformance.Lock {
			return rlock.New(clients[client], name, opts...)
		}
		return lab
	})
}
