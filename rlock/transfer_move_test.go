package rlock_test

import (
	"context"
	"encoding/base64"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// transferPair is two clients of the shared server and a key that is only theirs.
func transferPair(t *testing.T) (from, to *rlock.Client, key string) {
	t.Helper()
	server := redistest.Shared(t)
	from = timeClient(t, server.Addr(), rlock.ClientOptions{})
	to = timeClient(t, server.Addr(), rlock.ClientOptions{})
	return from, to, redistest.Key(t)
}

// Need 18, ownership transfer: a hold moves, with its fencing token, and at no time is it in two
// processes or free.
func TestExportedHoldMovesToAnotherClient(t *testing.T) {
	t.Parallel()
	a, b, key := transferPair(t)
	rdb := redistest.Shared(t).Client(t)
	here, there := rlock.New(a, key), rlock.New(b, key)
	hold := timeLock(t, t.Context(), here)
	before := timeHeld(t, hold.ctx, here)

	token, err := here.Export(hold.ctx)
	require.NoError(t, err)
	require.ErrorIs(t, context.Cause(hold.ctx), rlock.ErrReleased)
	require.ErrorIs(t, hold.unlock(), rlock.ErrNotHeld)
	_, err = here.Held(hold.ctx)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	_, err = here.Export(hold.ctx)
	require.ErrorIs(t, err, rlock.ErrNotHeld, "it is exported once")
	for _, lock := range []*rlock.Lock{here, there} {
		_, _, err = lock.TryLock(context.Background())
		require.ErrorIs(t, err, rlock.ErrBusy, "on its way it is held, by nobody")
	}

	ctx, unlock, err := there.Import(t.Context(), token)
	require.NoError(t, err)
	after := timeHeld(t, ctx, there)
	require.Equal(t, before.Fence, after.Fence, "to the storage behind it, it is the same hold")
	require.NotEqual(t, before.ID, after.ID, "what the exporter sent late cannot touch it")
	timeCounts(t, rdb, key, after.ID, 1)
	require.False(t, rdb.HExists(t.Context(), key, before.ID).Val())
	inner := timeLock(t, ctx, there)
	timeCounts(t, rdb, key, after.ID, 2) // it can be entered again
	require.NoError(t, inner.unlock())
	require.NoError(t, unlock())
	timeGone(t, rdb, key)
	_, _, err = here.Import(t.Context(), token)
	require.ErrorIs(t, err, rlock.ErrNotHeld, "it is imported once")
}

// A process can take back what it exported.
func TestHoldComesBackToItsExporter(t *testing.T) {
	t.Parallel()
	a, _, key := transferPair(t)
	lock := rlock.New(a, key)
	hold := timeLock(t, t.Context(), lock)
	token, err := lock.Export(hold.ctx)
	require.NoError(t, err)
	ctx, unlock, err := lock.Import(t.Context(), token)
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	require.NoError(t, unlock())
}

func TestOfManyImportsOfOneTokenExactlyOneSucceeds(t *testing.T) {
	t.Parallel()
	a, b, key := transferPair(t)
	rdb := redistest.Shared(t).Client(t)
	lock := rlock.New(a, key)
	for range 20 {
		hold := timeLock(t, t.Context(), lock)
		token, err := lock.Export(hold.ctx)
		require.NoError(t, err)
		var all sync.WaitGroup
		var won atomic.Int32
		unlocks := make(chan func() error, 8)
		for i := range 8 {
			lock := rlock.New([]*rlock.Client{a, b}[i%2], key)
			all.Go(func() {
				_, unlock, err := lock.Import(t.Context(), token)
				if err == nil {
					won.Add(1)
					unlocks <- unlock
				} else {
					require.ErrorIs(t, err, rlock.ErrNotHeld)
				}
			})
		}
		all.Wait()
		require.Equal(t, int32(1), won.Load())
		require.NoError(t, (<-unlocks)())
		timeGone(t, rdb, key)
	}
}

// The importer's handle decides how it is held: renewed by the watchdog, or not.
func TestImportedHoldIsRenewedUnderItsHandle(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb, key := server.Client(t), redistest.Key(t)
	renewed := make(chan error, 100)
	a := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: time.Minute})
	b := timeClient(t, server.Addr(), rlock.ClientOptions{
		Lease:    900 * time.Millisecond,
		Observer: &rlock.Observer{Renewed: func(r rlock.Renewal) { renewed <- r.Err }},
	})
	hold := timeLock(t, t.Context(), rlock.New(a, key, rlock.FixedLease(time.Minute)))
	token, err := rlock.New(a, key).Export(hold.ctx)
	require.NoError(t, err)
	ctx, unlock, err := rlock.New(b, key).Import(t.Context(), token)
	require.NoError(t, err)
	timeBetween(t, 0, timeTTL(t, rdb, key), 900*time.Millisecond)
	for range 4 { // more than its lease
		require.NoError(t, timeReceive(t, renewed, "a renewal"))
	}
	require.NoError(t, ctx.Err())
	lock := rlock.New(b, key)
	token, err = lock.Export(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, unlock(), rlock.ErrNotHeld)

	ctx, unlock, err = rlock.New(a, key, rlock.FixedLease(time.Second)).
		Import(t.Context(), token)
	require.NoError(t, err)
	timeLost(t, timeOver(t, ctx), rlock.LossExpired)
	timeLost(t, unlock(), rlock.LossExpired)
	timeGoneSoon(t, rdb, key)
}

func TestExportOfANestedHoldIsRefusedAndHarmless(t *testing.T) {
	t.Parallel()
	a, _, key := transferPair(t)
	rdb := redistest.Shared(t).Client(t)
	lock := rlock.New(a, key)
	outer := timeLock(t, t.Context(), lock)
	inner := timeLock(t, outer.ctx, lock)
	for _, ctx := range []context.Context{outer.ctx, inner.ctx} {
		_, err := lock.Export(ctx)
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, "ctx", bad.Name)
		require.NoError(t, ctx.Err())
	}
	timeCounts(t, rdb, key, timeHeld(t, inner.ctx, lock).ID, 2)
	require.NoError(t, inner.unlock())
	token, err := lock.Export(outer.ctx)
	require.NoError(t, err, "one level is left")
	_, unlock, err := lock.Import(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, int64(1), rdb.HLen(t.Context(), key).Val(),
		"the operation number went with the old id")
	require.NoError(t, unlock())
	timeGone(t, rdb, key)
}

func TestExportWithoutAHold(t *testing.T) {
	t.Parallel()
	a, b, key := transferPair(t)
	_, err := rlock.New(a, key).Export(t.Context())
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	hold := timeLock(t, t.Context(), rlock.New(a, key))
	_, err = rlock.New(b, key).Export(hold.ctx)
	require.ErrorIs(t, err, rlock.ErrNotHeld, "another client's hold is none of its")
	_, err = rlock.New(a, key+"x").Export(hold.ctx)
	require.ErrorIs(t, err, rlock.ErrNotHeld, "nor is another lock's")
	require.NoError(t, hold.unlock())
}

// G14, need 18: a token that no Export made is refused by name, before anything is sent.
func TestImportRefusesGarbage(t *testing.T) {
	t.Parallel()
	lab := newTimeLab(t)
	client := lab.client(t, rlock.ClientOptions{})
	lock := rlock.New(client, "order")
	other := timeLock(t, t.Context(), rlock.New(client, "another"))
	foreign, err := rlock.New(client, "another").Export(other.ctx)
	require.NoError(t, err)
	coded := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	sent := lab.proxy.Requests(faultproxy.AnyScript)
	for name, token := range map[string]string{
		"empty": "", "not base64": "!!", "not JSON": coded("hello"), "null": coded("null"),
		"nothing in it": coded("{}"), "no id": coded(`{"k":"b3JkZXI="}`),
		"no key": coded(`{"c":"x","s":"y"}`), "another type": coded(`{"k":1,"c":2,"s":3}`),
		"no secret": coded(`{"k":"b3JkZXI=","c":"x"}`), "no client": coded(`{"k":"b3JkZXI=","s":"y"}`),
		"a list": coded("[]"), "of another lock": foreign,
		"with something behind": foreign + "AAAA", "cut short": foreign[:len(foreign)/2],
	} {
		ctx, unlock, err := lock.Import(t.Context(), token)
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad, name)
		require.Equal(t, "token", bad.Name, name)
		require.Equal(t, t.Context(), ctx, name)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld, name)
	}
	require.Equal(t, sent, lab.proxy.Requests(faultproxy.AnyScript))
	require.NoError(t, rlock.New(client, "another").Break(t.Context()))
}

// A local waiter stood behind the hold; when that is exported it has to wait on Redis instead (G6).
func TestWaiterBehindAnExportedHoldGetsItAfterTheImporter(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	key := redistest.Key(t)
	a := timeClient(t, server.Addr(), rlock.ClientOptions{MaxPoll: time.Hour})
	b := timeClient(t, server.Addr(), rlock.ClientOptions{})
	lock := rlock.New(a, key)
	hold := timeLock(t, t.Context(), lock)
	got := make(chan func() error, 1)
	go func() {
		_, unlock, err := lock.Lock(context.Background())
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		got <- unlock
	}()
	conductWaits(t, a, 1)
	token, err := lock.Export(hold.ctx)
	require.NoError(t, err)
	_, unlock, err := rlock.New(b, key).Import(t.Context(), token)
	require.NoError(t, err)
	redistest.Eventually(t, timeLimit, func() bool {
		info, err := rlock.New(b, key).Inspect(t.Context())
		return err == nil && info.Waiters == 1
	}, "the waiter listens")
	require.Empty(t, got)
	require.NoError(t, unlock())
	require.NoError(t, timeReceive(t, got, "the lock")())
}
