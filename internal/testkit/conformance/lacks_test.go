package conformance_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLacksHasWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "nothing", conformance.Lacks(0).String())
	require.Equal(t, "tries, export", (conformance.Moves | conformance.Tries).String())
	all := conformance.Standing<<1 - 1
	require.Equal(t, "reentry, tokens, Held, tries, options, exclusion, export, MinHold, sets, notes, faults, "+
		"observers, erasure, Keep, waiters of others, renewal without a new connection", all.String())
}

func TestFit(t *testing.T) {
	t.Parallel()
	for want, c := range map[time.Duration]struct {
		leases conformance.Leases
		d      time.Duration
	}{
		1500 * time.Millisecond: {conformance.Leases{}, 1500 * time.Millisecond},
		5 * time.Second:         {conformance.Leases{Least: 5 * time.Second}, 1500 * time.Millisecond},
		2 * time.Second:         {conformance.Leases{Step: time.Second}, 1500 * time.Millisecond},
		6 * time.Second:         {conformance.Leases{Least: 5 * time.Second, Step: 2 * time.Second}, 2 * time.Second},
		time.Minute:             {conformance.Leases{Least: 5 * time.Second, Step: time.Second}, time.Minute},
	} {
		require.Equal(t, want, c.leases.Fit(c.d), "%+v", c)
	}
}

// etcdLike are the leases of a store whose leases have whole seconds, and are lost with less than five in an election.
var etcdLike = conformance.Leases{Least: 5 * time.Second, Step: time.Second}

// limited is a store with such leases, on which a hold has no note.
type limited struct{ *memstore.Store }

func (l limited) Bind(rules store.Rules) store.Protocol { return l.Store.Bind(limitedRules{rules}) }

type limitedRules struct{ store.Rules }

func (l limitedRules) Traits() *store.Traits {
	traits := *l.Rules.Traits()
	traits.Notes = false
	traits.CheckLease = func(option string, lease time.Duration) error {
		if lease == etcdLike.Fit(lease) {
			return nil
		}
		return &lock.ArgumentError{Name: option, Value: lease, Problem: fmt.Sprintf("must be %+v", etcdLike)}
	}
	return &traits
}

// The suite asks a store with such limits for nothing beyond them, and for their refusal.
func TestAStoreWithLimitedLeasesConforms(t *testing.T) {
	t.Parallel()
	conformance.RunVirtually(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		lease = etcdLike.Fit(lease)
		server := memstore.NewServer(nil)
		t.Cleanup(server.Close)
		var clients [2]*rlock.Client
		var stores [2]*memstore.Store
		for i := range clients {
			options, err := redisclient.Options{Lease: lease, Logger: slog.New(slog.DiscardHandler)}.Checked()
			require.NoError(t, err)
			stores[i] = server.Store(i, true)
			client, err := redisclient.On(options, redisclient.ByRules(limited{stores[i]}), false)
			require.NoError(t, err)
			clients[i] = (*rlock.Client)(client)
			t.Cleanup(func() { _ = clients[i].Close() })
		}
		return conformance.Lab{
			Lock: func(client int, name string, opts ...lock.Option) conformance.Lock {
				return rlock.New(clients[client], name, opts...)
			},
			Close: func(client int) error { return clients[client].Close() },
			Sent:  func() int64 { return stores[0].Sent() + stores[1].Sent() },
			Lease: lease, Leases: etcdLike, Lacks: conformance.Notes | conformance.Faults |
				conformance.Listeners | conformance.Erasure | conformance.Keeping,
		}
	})
}
