package rlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/rlock"
)

// G3: an export whose request or reply is lost is sent again and is one export.
func TestExportSurvivesALostReply(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultproxy.Action{
		"reply lost": faultproxy.DropReply, "request lost": faultproxy.DropRequest,
		"cut after": faultproxy.CutAfter, "sent twice": faultproxy.Duplicate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			a, b := lab.client(t, rlock.ClientOptions{Lease: 6 * time.Second}),
				lab.outside(t, rlock.ClientOptions{})
			hold := timeLock(t, t.Context(), rlock.New(a, key))
			rule := lab.on("adopt", fault)
			token, err := rlock.New(a, key).Export(hold.ctx)
			require.NoError(t, err)
			rule.Wait(t, 1)
			_, unlock, err := rlock.New(b, key).Import(t.Context(), token)
			require.NoError(t, err)
			require.NoError(t, unlock())
			timeGone(t, lab.direct, key)
		})
	}
}

// Nobody confirms the export: the hold has ended here and was not exported, so it is taken back when
// Redis can be reached, and no process holds it (G4).
func TestUnconfirmedExportIsTakenBack(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	a := lab.client(t, rlock.ClientOptions{
		Lease: 30 * time.Second, ReleaseTimeout: 100 * time.Millisecond,
	})
	hold := timeLock(t, t.Context(), rlock.New(a, key))
	lab.proxy.Blackhole(true)
	token, err := rlock.New(a, key).Export(hold.ctx)
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.Empty(t, token)
	require.Error(t, hold.ctx.Err())
	require.ErrorIs(t, hold.unlock(), rlock.ErrNotHeld)
	require.Equal(t, int64(1), lab.direct.Exists(t.Context(), key).Val())
	lab.proxy.Blackhole(false)
	timeGoneSoon(t, lab.direct, key)
}

// An export that nobody confirms is taken back by both ids, whether its request was carried out or comes late, and a late
// copy of one that was confirmed takes nothing. What is kept for a least duration is kept for that, under nobody's id.
func TestUnconfirmedExportIsTakenBackByBothIDs(t *testing.T) {
	t.Parallel()
	const least = 6 * time.Second
	for name, fault := range map[string]func(*faultproxy.Gate) faultproxy.Action{
		"no reply":       func(*faultproxy.Gate) faultproxy.Action { return faultproxy.DropReply },
		"a late request": faultproxy.HoldRequest,
		"a late copy":    faultproxy.DuplicateLater,
	} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", kept ", kept), func(t *testing.T) {
				t.Parallel()
				lab, key := newTimeLab(t), "order"
				knowsAdopt(t, lab)
				a := lab.client(t, rlock.ClientOptions{Lease: 30 * time.Second, ReleaseTimeout: 300 * time.Millisecond})
				var options []rlock.Option
				if kept {
					options = append(options, rlock.MinHold(least))
				}
				lock, began := rlock.New(a, key, options...), time.Now()
				hold := timeLock(t, t.Context(), lock)
				gate := faultproxy.NewGate()
				rule := lab.on("adopt", fault(gate)).Times(-1)
				token, err := lock.Export(hold.ctx)
				rule.Wait(t, 1)
				require.ErrorIs(t, context.Cause(hold.ctx), rlock.ErrReleased)
				require.ErrorIs(t, hold.unlock(), rlock.ErrNotHeld)
				if name == "a late copy" {
					require.NoError(t, err)
					_, unlock, err := rlock.New(lab.outside(t, rlock.ClientOptions{}), key).Import(t.Context(), token)
					require.NoError(t, err)
					require.NoError(t, unlock())
				} else {
					require.ErrorIs(t, err, rlock.ErrUnavailable)
					require.Empty(t, token)
				}
				gate.Open()
				if name != "no reply" {
					timeReceive(t, gate.Delivered(), "what was late")
				}
				timeGoneWithin(t, lab.direct, key, 20*time.Second) // its lease would be 30 s
				if kept {
					require.GreaterOrEqual(t, time.Since(began), least)
				}
			})
		}
	}
}

// knowsAdopt has the server know the script, so that it is not sent twice for being unknown.
func knowsAdopt(t *testing.T, lab *timeLab) {
	t.Helper()
	_, err := luacall.Adopt(luacall.AdoptArgs{Lock: "warm", From: "a:1", To: "a:2", Lease: 1000}).Run(t.Context(), lab.direct)
	require.NoError(t, err)
}

// A context that ends while the hold departs does not lose it: Export returns the token, which is good.
func TestExportWhoseContextEndsIsAnExport(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	a, b := lab.client(t, rlock.ClientOptions{}), lab.outside(t, rlock.ClientOptions{})
	knowsAdopt(t, lab)
	ctx, cancel := context.WithCancel(t.Context())
	hold := timeLock(t, ctx, rlock.New(a, key))
	gate := faultproxy.NewGate()
	rule := lab.on("adopt", faultproxy.HoldReply(gate))
	tokens := make(chan string, 1)
	go func() {
		token, err := rlock.New(a, key).Export(hold.ctx)
		if err != nil {
			t.Error(err)
		}
		tokens <- token
	}()
	rule.Wait(t, 1)
	cancel()
	gate.Open()
	_, unlock, err := rlock.New(b, key).Import(t.Context(), timeReceive(t, tokens, "the token"))
	require.NoError(t, err)
	require.NoError(t, unlock())
	timeGone(t, lab.direct, key)
}

// Redis forgot the hold before it was exported: that is a loss, not an export.
func TestExportOfAHoldThatRedisForgot(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	a := lab.client(t, rlock.ClientOptions{})
	hold := timeLock(t, t.Context(), rlock.New(a, key))
	require.NoError(t, lab.direct.Del(t.Context(), key).Err())
	token, err := rlock.New(a, key).Export(hold.ctx)
	timeLost(t, err, rlock.LossGone)
	require.Empty(t, token)
	require.Error(t, hold.ctx.Err())
}

// Interleaving 5: the exporter's context ends before Redis is told anything.
func TestExporterStopsBelievingFirst(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	a := lab.client(t, rlock.ClientOptions{Lease: 30 * time.Second})
	hold := timeLock(t, t.Context(), rlock.New(a, key))
	gate := faultproxy.NewGate()
	rule := lab.on("adopt", faultproxy.HoldRequest(gate))
	exported := make(chan error, 1)
	go func() {
		_, err := rlock.New(a, key).Export(hold.ctx)
		exported <- err
	}()
	rule.Wait(t, 1)
	require.ErrorIs(t, context.Cause(hold.ctx), rlock.ErrReleased)
	require.Empty(t, exported)
	gate.Open()
	require.NoError(t, timeReceive(t, exported, "the end of the export"))
	require.NoError(t, rlock.New(a, key).Break(t.Context()))
}

// G3: an import whose reply is lost is sent again under the same id and is one import.
func TestImportSurvivesALostReply(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultproxy.Action{
		"reply lost": faultproxy.DropReply, "request lost": faultproxy.DropRequest,
		"cut after": faultproxy.CutAfter, "sent twice": faultproxy.Duplicate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			a, b := lab.outside(t, rlock.ClientOptions{}),
				lab.client(t, rlock.ClientOptions{Lease: 6 * time.Second})
			here, there := rlock.New(a, key), rlock.New(b, key)
			hold := timeLock(t, t.Context(), here)
			fence := timeHeld(t, hold.ctx, here).Fence
			token, err := here.Export(hold.ctx)
			require.NoError(t, err)
			// The first request of a client may only learn the server's clock.
			_, err = there.Inspect(t.Context())
			require.NoError(t, err)
			timeLock(t, t.Context(), rlock.New(b, "clock")).unlock()
			rule := lab.on("adopt", fault)
			ctx, unlock, err := there.Import(t.Context(), token)
			require.NoError(t, err)
			rule.Wait(t, 1)
			require.Equal(t, fence, timeHeld(t, ctx, there).Fence)
			require.NoError(t, unlock())
			timeGone(t, lab.direct, key)
		})
	}
}

// G4: the importer's ctx ends when Redis has carried the import out and has not answered. With an error
// nothing is left behind, on either side.
func TestAbandonedImportLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	a, b := lab.outside(t, rlock.ClientOptions{}), lab.client(t, rlock.ClientOptions{})
	// The server must know the script: its answer to the first request is held back.
	warm := timeLock(t, t.Context(), rlock.New(a, "warm"))
	token, err := rlock.New(a, "warm").Export(warm.ctx)
	require.NoError(t, err)
	_, unlock, err := rlock.New(b, "warm").Import(t.Context(), token)
	require.NoError(t, err)
	require.NoError(t, unlock())

	hold := timeLock(t, t.Context(), rlock.New(a, key))
	token, err = rlock.New(a, key).Export(hold.ctx)
	require.NoError(t, err)
	gate := faultproxy.NewGate()
	rule := lab.on("adopt", faultproxy.HoldReply(gate))
	ctx, cancel := context.WithCancel(t.Context())
	imported := make(chan error, 1)
	go func() {
		_, _, err := rlock.New(b, key).Import(ctx, token)
		imported <- err
	}()
	rule.Wait(t, 1)
	cancel()
	require.ErrorIs(t, timeReceive(t, imported, "the import's error"), context.Canceled)
	gate.Open()
	timeGoneSoon(t, lab.direct, key)
}

// The lease of an exported hold that nobody imports ends like any other.
func TestHoldThatExpiresOnTheWay(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second // in which a busy machine answers
	lab, key := newTimeLab(t), "order"
	a, b := lab.outside(t, rlock.ClientOptions{Lease: lease}),
		lab.outside(t, rlock.ClientOptions{})
	hold := timeLock(t, t.Context(), rlock.New(a, key))
	token, err := rlock.New(a, key).Export(hold.ctx)
	require.NoError(t, err)
	timeBetween(t, 0, timeTTL(t, lab.direct, key), lease)
	timeGoneSoon(t, lab.direct, key)

	// Neither a free lock nor somebody else's is imported.
	ctx, _, err := rlock.New(b, key).Import(t.Context(), token)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	require.Equal(t, t.Context(), ctx)
	timeGone(t, lab.direct, key)
	next := timeLock(t, t.Context(), rlock.New(a, key, rlock.FixedLease(time.Minute)))
	_, _, err = rlock.New(b, key).Import(t.Context(), token)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	require.NoError(t, next.ctx.Err())
	require.NoError(t, next.unlock())
}

// Interleaving 14a, with the hold elsewhere by then: a first attempt to acquire is stuck on its way, a
// second one succeeds, and the hold moves and ends. When the first one arrives it must not make a hold
// that nobody knows of for a lease.
func TestLateAcquisitionOfAnExportedHoldLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	// The not-after of a request is a command's limit ahead: 3 s, within which all this happens.
	a, b := lab.client(t, rlock.ClientOptions{}), lab.outside(t, rlock.ClientOptions{})
	require.NoError(t, timeLock(t, t.Context(), rlock.New(a, "clock")).unlock())
	stuck := make(chan []any, 1)
	keep := func(r faultproxy.Request) bool {
		if r.SHA() != luacall.SHA("acquire") || len(stuck) > 0 {
			return false
		}
		var args []any
		for _, arg := range r.Args {
			args = append(args, string(arg))
		}
		stuck <- args
		return true
	}
	lab.proxy.On(keep, faultproxy.CutBefore)
	hold := timeLock(t, t.Context(), rlock.New(a, key))
	token, err := rlock.New(a, key).Export(hold.ctx)
	require.NoError(t, err)
	_, unlock, err := rlock.New(b, key).Import(t.Context(), token)
	require.NoError(t, err)
	require.NoError(t, unlock())

	late := timeReceive(t, stuck, "the request of the first attempt")
	require.NoError(t, lab.direct.Do(t.Context(), late...).Err())
	timeGoneWithin(t, lab.direct, key, 10*time.Second) // its lease would be 30 s
}
