package rlock_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const lossShort = 2 * time.Second // a lease that is soon over

// Need 3: renewals that fail, and then succeed while the hold is still valid, are no loss. Whether the
// request or the reply is lost makes no difference.
func TestRenewalsThatFailForAWhileAreNoLoss(t *testing.T) {
	t.Parallel()
	faults := map[string]faultproxy.Action{
		"cut before": faultproxy.CutBefore, "cut after": faultproxy.CutAfter,
	}
	for what, fault := range faults {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLossLab(t, 1, lossLease)
			rule := l.proxy.On(lossRenewal, fault).Times(3)
			lock := rlock.New(l.clients[0], "job")
			ctx, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			first, err := lock.Held(ctx)
			require.NoError(t, err)
			rule.Wait(t, 3)
			redistest.Eventually(t, lossPatience, func() bool {
				return l.events.count(&l.events.renewed, "job") >= 1
			}, "a renewal is confirmed again")

			assert.NoError(t, ctx.Err())
			assert.Zero(t, l.events.total())
			assert.Equal(t, 3, l.events.count(&l.events.failed, "job"))
			now, err := lock.Held(ctx)
			require.NoError(t, err)
			assert.True(t, now.ValidUntil.After(first.ValidUntil))
			assert.Equal(t, first.Fence, now.Fence)
			assert.NoError(t, unlock())
			assert.NotContains(t, l.server.Keys(t), "job")
		})
	}
}

// Bug 13: one bad key in a batch, of another type or gone, costs its own hold and no other.
func TestLossOfOneHoldDisturbsNoOther(t *testing.T) {
	t.Parallel()
	const holds = 50
	l := newLossLab(t, 1, lossLease/2)
	all, err := l.take(holds)
	require.NoError(t, err)
	wrong, gone := all[7], all[31]
	require.NoError(t, l.direct.Set(t.Context(), wrong.name, "precious", 0).Err())
	require.NoError(t, l.direct.Del(t.Context(), gone.name).Err())
	require.NoError(t, lossAwait([]*lossHold{wrong, gone}, func(h *lossHold) error {
		return lossCheck(h.name, context.Cause(h.ctx), rlock.LossGone)
	}))

	const enough = 4 // renewals: for longer than a lease
	for _, h := range all {
		if h == wrong || h == gone {
			continue
		}
		redistest.Eventually(t, lossPatience, func() bool {
			return l.events.count(&l.events.renewed, h.name) >= enough
		}, "the others are renewed, time and again")
		assert.NoError(t, h.ctx.Err())
		assert.NoError(t, h.unlock())
	}
	assert.Equal(t, 2, l.events.total())
	assert.ErrorIs(t, wrong.unlock(), rlock.ErrLost)
	assert.ErrorIs(t, gone.unlock(), rlock.ErrLost)
	assert.Equal(t, "precious", l.direct.Get(t.Context(), wrong.name).Val())
}

// lossStuck is a log handler that never returns, once it was told what it waits for.
type lossStuck struct {
	on    string
	stuck chan struct{} // receives a value when it is
	free  chan struct{}
}

func (s *lossStuck) Enabled(context.Context, slog.Level) bool { return true }
func (s *lossStuck) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s *lossStuck) WithGroup(string) slog.Handler            { return s }
func (s *lossStuck) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, s.on) {
		select {
		case s.stuck <- struct{}{}:
		default:
		}
		<-s.free
	}
	return nil
}

// G2: a log that blocks (a full pipe, a slow disk) keeps no context from ending in time. What is lost
// at the same time as what is being logged must not wait for that.
func TestLossDoesNotWaitForTheLog(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"lost", "unavailable"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			l := newLossLab(t, 0, lossShort)
			log := &lossStuck{on: on, stuck: make(chan struct{}, 1), free: make(chan struct{})}
			c, err := rlock.NewClient(
				lossRedis(t, l.proxy.Addr()), &rlock.ClientOptions{
					Lease: lossShort, ReleaseTimeout: time.Second, Logger: slog.New(log),
				})
			require.NoError(t, err)
			l.clients = append(l.clients, c)
			t.Cleanup(func() { close(log.free) }) // before the client is closed
			holds, err := l.take(10)
			require.NoError(t, err)
			l.proxy.Blackhole(true)
			redistest.Receive(t, lossPatience, log.stuck, "nothing was logged")
			require.NoError(t, lossAwait(holds, func(h *lossHold) error {
				if !h.ended.Before(h.expiry.Add(lossShort)) { // generous: it is about waiting for ever
					return fmt.Errorf("%s: it ended %v late", h.name, h.ended.Sub(h.expiry))
				}
				return lossCheck(h.name, context.Cause(h.ctx), rlock.LossExpired)
			}))
		})
	}
}
