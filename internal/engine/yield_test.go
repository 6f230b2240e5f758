package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/watchdog"
)

// channel is what a process hears of a name: a subscription on a real server.
type channel struct {
	t      *testing.T
	hub    *wake.Hub
	rdb    *redis.Client
	ticket store.Ticket
}

func newChannel(t *testing.T) *channel {
	rdb := redistest.Start(t).Client(t)
	clock := watchdog.NewClock()
	wheel := watchdog.NewWheel(clock, 10*time.Millisecond)
	c := &channel{t: t, rdb: rdb, hub: wake.New(wake.Config{
		Open:    func(ctx context.Context) *redis.PubSub { return rdb.Subscribe(ctx) },
		Shard:   func(context.Context, string) string { return "" },
		Moved:   func(context.Context) {},
		Sharded: func(context.Context) (bool, error) { return false, nil },
		Wheel:   wheel, Clock: clock, Linger: time.Minute, Limit: time.Second,
	})}
	t.Cleanup(func() {
		c.hub.Close()
		wheel.Close()
	})
	c.ticket = c.hub.Listen("k")
	c.woken() // by the confirmation
	return c
}

func (c *channel) woken() {
	c.t.Helper()
	select {
	case <-c.ticket.C():
	case <-time.After(10 * time.Second):
		require.FailNow(c.t, "not woken")
	}
}

// release has the message of a release come, and waits until it is here.
func (c *channel) release() {
	c.t.Helper()
	require.NoError(c.t, c.rdb.Publish(context.Background(), "k", "0").Err())
	c.woken()
}

// cut loses the subscription, and waits for the next one.
func (c *channel) cut() {
	c.t.Helper()
	require.NoError(c.t, c.rdb.ClientKillByFilter(context.Background(), "type", "pubsub").Err())
	c.woken()
}

// afterRun is a floor whose process has come to the end of a run, of which so many others heard: w2 asks.
func afterRun(t *testing.T, others int, heard store.Heard) *floor {
	f := newFloor(t)
	f.come("w1")
	f.win("w1")
	f.come("w2", "w3")
	f.holds["w1"].key.released(f.holds["w1"], f.holds["w1"].Current().Start(), runEnd{over: true, heard: heard, receivers: int64(others), others: others})
	f.asking("w2")
	return f
}

func TestReleasesOfOthersPayWhatARunOwes(t *testing.T) {
	c := newChannel(t)
	f := afterRun(t, 2, c.hub.Heard("k"))
	for _, whose := range []string{"ours", "the first other's", "the second other's"} {
		require.True(t, f.waiters["w2"].owes(c.ticket.Heard()), "before %s", whose)
		require.True(t, f.waiters["w2"].owes(c.ticket.Heard()), "looking pays nothing")
		c.release()
	}
	require.False(t, f.waiters["w2"].owes(c.ticket.Heard()))
}

// Nobody is at hand while they come: as wake-ups they would be one, and they are three all the same.
func TestReleasesAreCountedThatNobodyWaitedFor(t *testing.T) {
	c := newChannel(t)
	f := afterRun(t, 2, c.hub.Heard("k"))
	for range 3 {
		c.release()
	}
	require.False(t, f.waiters["w2"].owes(c.ticket.Heard()))
}

// A process that is not subscribed when it releases gets no message of its own, so none is taken off for that.
func TestAnUnsubscribedProcessHasNoMessageOfItsOwn(t *testing.T) {
	c := newChannel(t)
	f := afterRun(t, 1, store.Heard{})
	require.True(t, f.waiters["w2"].owes(c.ticket.Heard()), "it counts from here on")
	c.release()
	require.False(t, f.waiters["w2"].owes(c.ticket.Heard()))
}

// What was heard under another subscription says nothing about how many were missed: those from then on
// count, and until then patience ends every wait.
func TestACountThatRestartedPaysNothingByItself(t *testing.T) {
	c := newChannel(t)
	f := afterRun(t, 1, c.hub.Heard("k"))
	c.release()
	c.cut()
	for range 2 {
		require.True(t, f.waiters["w2"].owes(c.ticket.Heard()))
		c.release()
	}
	require.False(t, f.waiters["w2"].owes(c.ticket.Heard()))
}

// silence is a ticket on which nothing ever comes, for tests in a bubble of time.
func silence(t *testing.T) store.Ticket {
	clock := watchdog.NewClock()
	wheel := watchdog.NewWheel(clock, 10*time.Millisecond)
	t.Cleanup(wheel.Close)
	hub := wake.New(wake.Config{
		Shard: func(context.Context, string) string { return "" }, Wheel: wheel, Clock: clock,
	})
	hub.Close()
	return hub.Listen("k")
}

// yields runs w2's wait, and returns how long it took.
func (f *floor) yields(ctx context.Context, on store.Ticket) time.Duration {
	w := f.waiters["w2"]
	w.ticket = on
	start := time.Now()
	w.repay(ctx)
	return time.Since(start)
}

func TestNobodyWaitsWhoOwesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Zero(t, afterRun(t, 0, store.Heard{}).yields(t.Context(), silence(t)))
	})
}

// Patience is bounded, and pays nothing: the next message is waited for as before.
func TestPatienceEndsAndTheDebtStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, on := afterRun(t, 1, store.Heard{}), silence(t)
		for range 20 {
			took := f.yields(t.Context(), on)
			require.GreaterOrEqual(t, took, time.Millisecond)
			require.Less(t, took, time.Millisecond+localqueue.RunPause)
			require.True(t, f.waiters["w2"].owes(on.Heard()))
		}
	})
}

func TestYieldingEndsWithTheCallAndWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, on := afterRun(t, 1, store.Heard{}), silence(t)
		over, end := context.WithCancel(t.Context())
		end()
		require.Zero(t, f.yields(over, on))
		f.engine.sender.Close()
		require.Zero(t, f.yields(t.Context(), on))
	})
}
