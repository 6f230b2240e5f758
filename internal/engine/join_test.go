package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// joinStore is a store that answers renewals, and to which releases are without effect.
type joinStore struct {
	store.Store
	renewal error
}

func (s *joinStore) Start(store.Host)                                            {}
func (s *joinStore) Name() string                                                { return "the store" }
func (s *joinStore) Node(string) string                                          { return "node" }
func (s *joinStore) Serves(string) bool                                          { return true }
func (s *joinStore) Direct() bool                                                { return true }
func (s *joinStore) Heard(string) store.Heard                                    { return store.Heard{} }
func (s *joinStore) Within(ctx context.Context, _ time.Duration) context.Context { return ctx }
func (s *joinStore) Replaceable() bool                                           { return false }
func (s *joinStore) ReleaseEach(context.Context, []*store.Parting)               {}
func (s *joinStore) Renew(_ context.Context, all []store.Renewal) {
	for i := range all {
		all[i].Err = s.renewal
	}
}

// joinRules are those of a reader.
type joinRules struct{ store.Protocol }

var joinTraits = store.Traits{Shares: true, Counts: true}

func (joinRules) Name() string          { return "name" }
func (joinRules) Key() string           { return "key" }
func (joinRules) Mode() string          { return "read" }
func (joinRules) Channel() string       { return "channel" }
func (joinRules) Traits() *store.Traits { return &joinTraits }
func (joinRules) Excludes(string) bool  { return false }
func (joinRules) Follows(string) bool   { return false }
func (joinRules) Inherits(string) bool  { return false }

// R3: a grant whose last renewal failed is not joined, be there ever so much left of its lease.
func TestAGrantThatIsNotRenewedIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &joinStore{}
		e := New(Config{Store: st, ClientID: "client", Lease: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		req := &Request{Proto: joinRules{}, Want: hold.Want{Terms: hold.Terms{Lease: time.Minute, Renewed: true}}}
		w := e.newWaiter(req, e.clock.Now(), outer{})
		k := e.table.lock(req.Proto)
		g, h := e.newGrantLocked(k, req, w.ID, 0, e.clock.Now(), 0)
		w.shares(g, localqueue.JoinTime(time.Hour, false))
		k.listLocked(g)
		k.unlock()
		require.Nil(t, e.join(t.Context(), call{Request: req}, outer{}), "who asked has not come to it yet")
		first, ok := attach(t.Context(), h, call{Request: req})
		require.True(t, ok)
		for _, st.renewal = range []error{errors.New("no"), nil} {
			e.watchdog.Hurry(&g.Lease)
			time.Sleep(hold.Tick)
			second := e.join(t.Context(), call{Request: req}, outer{})
			require.Equal(t, st.renewal == nil, second != nil)
			if second != nil {
				require.NoError(t, Unlock(second))
			}
		}
		require.NoError(t, first.Err())
		e.watchdog.Stop(&g.Lease)
		e.watchdog.Close()
		e.wheel.Close()
	})
}

// A process that stood still for longer than its lease learns of the loss by the unlock that runs first, whichever
// reader's that is: the contexts of all end with it, and all are told.
func TestAnUnlockFindsTheLossOfAllReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost, ended atomic.Int32
		e := New(Config{
			Store: &joinStore{}, ClientID: "client", Lease: time.Minute, Logger: slog.New(slog.DiscardHandler),
			Errors: Errors{Lost: func(store.Rules, hold.Reason, error) error { return errHeldOver }},
			Events: Events{
				Lost:  func(error) { lost.Add(1) },
				Ended: func(context.Context, Call, time.Duration, error) { ended.Add(1) },
			},
		})
		req := &Request{Proto: joinRules{}, Want: hold.Want{Terms: hold.Terms{Lease: time.Minute, Renewed: true}}}
		called := func() call { return call{Request: req, observed: e.observe(t.Context(), req, false)} }
		w := e.newWaiter(req, e.clock.Now(), outer{})
		k := e.table.lock(req.Proto)
		g, h := e.newGrantLocked(k, req, w.ID, 0, e.clock.Now(), 0)
		w.shares(g, localqueue.JoinTime(time.Hour, false))
		k.listLocked(g)
		k.unlock()
		first, ok := attach(t.Context(), h, called())
		require.True(t, ok)
		second := e.join(t.Context(), called(), outer{})
		e.clock.Advance(time.Hour)
		require.ErrorIs(t, Unlock(second), errHeldOver)
		require.EqualValues(t, 1, ended.Load(), "its own observer has been told")
		require.ErrorIs(t, context.Cause(first), errHeldOver)
		synctest.Wait()
		require.EqualValues(t, 2, ended.Load())
		require.EqualValues(t, 2, lost.Load())
		require.ErrorIs(t, Unlock(first), errHeldOver)
		e.watchdog.Close()
		e.wheel.Close()
	})
}
