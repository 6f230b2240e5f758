package memstore_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/conformance"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The reentrant lock keeps its contract without Redis.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, direct := range map[string]bool{"direct": true, "in goroutines": false} {
		t.Run(name, func(t *testing.T) { conformance.Run(t, lab(direct)) })
	}
}

func lab(direct bool) func(t testing.TB, lease time.Duration) conformance.Lab {
	return func(t testing.TB, lease time.Duration) conformance.Lab {
		server := memstore.NewServer(nil)
		t.Cleanup(server.Close)
		var clients [2]*rlock.Client
		var stores [2]*memstore.Store
		for i := range clients {
			stores[i] = server.Store(i, direct)
			options, err := redisclient.Options{Lease: lease, Logger: slog.New(slog.DiscardHandler)}.Checked()
			require.NoError(t, err)
			made, err := redisclient.On(options, redisclient.ByRules(stores[i]), false)
			require.NoError(t, err)
			clients[i] = (*rlock.Client)(made)
			t.Cleanup(func() { _ = clients[i].Close() })
		}
		return conformance.Lab{
			Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
				return rlock.New(clients[client], name, opts...)
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  func() int64 { return stores[0].Sent() + stores[1].Sent() },
			Lease: lease,
		}
	}
}
