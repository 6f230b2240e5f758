package fairlock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestConformance holds the fair lock to what every lock of the module promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		lab, clients := onredis.Lab(t, server.Addr(), rlock.ClientOptions{Lease: lease})
		lab.Lock = func(client int, name string, opts ...rlock.Option) conformance.Lock {
			return fairlock.New(clients[client], name, opts...)
		}
		lab.Lacks = conformance.MinHolds | conformance.Keeping
		return lab
	})
}
