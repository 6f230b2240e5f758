package rwlock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// side is one of the two locks of a read-write lock.
type side func(client *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock

func readSide(client *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(client, name, opts...).Read()
}

func writeSide(client *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(client, name, opts...).Write()
}

// TestWriteConformance holds the write side to what every lock of the module promises.
func TestWriteConformance(t *testing.T) {
	t.Parallel()
	conform(t, [2]side{writeSide, writeSide}, conformance.MinHolds|conformance.Notes|conformance.Keeping)
}

// TestReadConformance holds the read side to it, as far as readers do not exclude one another: who finds them
// busy is a writer.
func TestReadConformance(t *testing.T) {
	t.Parallel()
	conform(t, [2]side{readSide, writeSide},
		conformance.Exclusion|conformance.Fencing|conformance.MinHolds|conformance.Notes|conformance.Keeping)
}

// conform runs the suite over two clients, each with its side.
func conform(t *testing.T, sides [2]side, lacks conformance.Lacks) {
	server := redistest.Shared(t)
	conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		lab, clients := onredis.Lab(t, server.Addr(), rlock.ClientOptions{Lease: lease})
		lab.Lock = func(client int, name string, opts ...rlock.Option) conformance.Lock {
			return sides[client](clients[client], name, opts...)
		}
		lab.Rivals = make(map[string]func(client int, name string) conformance.Lock)
		for kind, side := range map[string]side{"a reader": readSide, "a writer": writeSide} {
			lab.Rivals[kind] = func(client int, name string) conformance.Lock { return side(clients[client], name) }
		}
		lab.Lacks = lacks
		return lab
	})
}
