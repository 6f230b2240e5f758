package luacall_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
)

// fairTimes are long against what a test takes, but for the pause.
var fairTimes = luacall.FairTimes{
	Life: 60_000, Step: 15_000, Unused: 600_000, Grant: 20_000, Restore: 10_000, Run: 30_000, Pause: 5_000,
}

// fairPlace is a fair lock of one test on one server.
type fairPlace struct {
	*place
	f luacall.Fair
	t luacall.FairTimes
}

func newFairPlace(p *place) *fairPlace {
	in := func(what string) string { return what + ":{" + p.lock + "}" }
	return &fairPlace{place: p, t: fairTimes, f: luacall.Fair{
		Lock: p.lock, Token: p.token, Channel: p.channel,
		Queue: in("queue"), Alive: in("alive"), State: in("state"), Client: in("client") + ":",
		JavaQueue: in("redisson_lock_queue"), JavaTimes: in("redisson_lock_timeout"),
		JavaChannel: p.channel + ":",
	}}
}

// fairly runs the test on a real server and on miniredis.
func fairly(t *testing.T, test func(t *testing.T, p *fairPlace)) {
	t.Helper()
	everywhere(t, func(t *testing.T, p *place) { test(t, newFairPlace(p)) })
}

// fairAlone runs the test on a server of its own, for what counts or has other settings.
func fairAlone(t *testing.T, args ...string) *fairPlace {
	t.Helper()
	return newFairPlace(newPlace(t, startServer(t, args...).Client(t)))
}

// fairMini is a lock on a miniredis whose clock the test sets.
func fairMini(t *testing.T) (*fairPlace, *miniredis.Miniredis) {
	t.Helper()
	server := embedded.Miniredis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	p := newPlace(t, rdb)
	p.mini = true
	return newFairPlace(p), server
}

// ask sends one attempt of a waiter, with the ticket that it has.
func (p *fairPlace) ask(id string, ticket int64) luacall.FairReply {
	p.place.t.Helper()
	return run(p.place, p.asking(id, ticket))
}

func (p *fairPlace) asking(id string, ticket int64) *luacall.Call[luacall.FairReply] {
	return luacall.FairAcquire(p.f, p.t, luacall.FairArgs{
		ID: id, Lease: lease, NotAfter: never, FenceTTL: fenceTTL, Ticket: ticket,
	})
}

// try asks without waiting.
func (p *fairPlace) try(id string) luacall.FairReply {
	p.place.t.Helper()
	return run(p.place, luacall.FairAcquire(p.f, p.t, luacall.FairArgs{
		ID: id, Lease: lease, NotAfter: never, FenceTTL: fenceTTL, Once: true,
	}))
}

// enters asks and has to get the lock.
func (p *fairPlace) enters(id string, ticket int64) luacall.FairReply {
	p.place.t.Helper()
	got := p.ask(id, ticket)
	require.Equal(p.place.t, luacall.Held, got.Status, "%s does not get in; it is %v", id, p.rdb.HGetAll(context.Background(), p.lock).Val())
	p.heldOnce(id)
	return got
}

// waits asks and has to get a place.
func (p *fairPlace) waits(id string, ticket int64) int64 {
	p.place.t.Helper()
	got := p.ask(id, ticket)
	require.Equal(p.place.t, luacall.Busy, got.Status)
	require.Positive(p.place.t, got.Ticket)
	return got.Ticket
}

func (p *fairPlace) enqueue(places ...luacall.Place) luacall.EnqueueReply {
	p.place.t.Helper()
	return run(p.place, luacall.FairEnqueue(p.f, p.t, never, places))
}

func (p *fairPlace) leaves(id string) luacall.ReleaseReply {
	p.place.t.Helper()
	return run(p.place, p.leaving(id))
}

func (p *fairPlace) leaving(id string) *luacall.Call[luacall.ReleaseReply] {
	return luacall.FairRelease(p.f, p.t, luacall.FairReleaseArgs{ID: id})
}

// done ends a hold and says who is invited: "" if the lock is free.
func (p *fairPlace) done(id string) string {
	p.place.t.Helper()
	require.Equal(p.place.t, luacall.Done, p.leaves(id).Status)
	return p.invited()
}

// invited is whom the lock was granted to, but who has not claimed it yet.
func (p *fairPlace) invited() string {
	p.place.t.Helper()
	fields := p.rdb.HGetAll(context.Background(), p.lock).Val()
	for id, count := range fields {
		if count == "1000000000" {
			require.Len(p.place.t, fields, 1)
			p.lives(p.lock, p.t.Grant)
			return id
		}
	}
	return ""
}

// queue is who stands in the queue, the first one first.
func (p *fairPlace) queue() []string {
	p.place.t.Helper()
	return p.rdb.ZRange(context.Background(), p.f.Queue, 0, -1).Val()
}

// idle asserts that nothing is left but the token.
func (p *fairPlace) idle() {
	p.place.t.Helper()
	for _, key := range []string{p.f.Lock, p.f.Queue, p.f.Alive, p.f.State} {
		require.Equal(p.place.t, int64(0), p.rdb.Exists(context.Background(), key).Val(), key)
	}
}

// dies makes a client one that was not heard of for too long.
func (p *fairPlace) dies(id string) {
	p.place.t.Helper()
	client, _, _ := strings.Cut(id, ":")
	p.do("ZADD %s 1 %s", p.f.Alive, client)
}

// expire ends the lock's life as if its time were over.
func (p *fairPlace) expire() { p.do("DEL %s", p.f.Lock) }

// runsOut ends the lock's lease: what is known of its end is over, too.
func (p *fairPlace) runsOut() {
	p.expire()
	p.do("HSET %s ends 0", p.f.State)
}

// whole is everything that stands at the lock's keys, but for the clock.
func (p *fairPlace) whole() string {
	p.place.t.Helper()
	ctx := context.Background()
	state := p.rdb.HGetAll(ctx, p.f.State).Val()
	delete(state, "seen")
	delete(state, "clock")
	delete(state, "ends")
	alive := p.rdb.ZRange(ctx, p.f.Alive, 0, -1).Val()
	sort.Strings(alive)
	return fmt.Sprint(p.rdb.HGetAll(ctx, p.f.Lock).Val(), p.rdb.Get(ctx, p.f.Token).Val(),
		p.rdb.ZRangeWithScores(ctx, p.f.Queue, 0, -1).Val(), alive, state)
}

// same asserts that act changes nothing.
func (p *fairPlace) same(act func()) {
	p.place.t.Helper()
	before := p.whole()
	act()
	require.Equal(p.place.t, before, p.whole())
}

// hear listens to the clients of these ids and to the lock's channel; what it returns reads who was told,
// in alphabetical order, "lock" for the lock's channel.
func (p *fairPlace) hear(ids ...string) func() []string {
	p.place.t.Helper()
	who := map[string]string{p.f.Channel: "lock"}
	for _, id := range ids {
		client, _, _ := strings.Cut(id, ":")
		who[p.f.Client+client] = id
		who[p.f.JavaChannel+id] = "java " + id
	}
	var channels []string
	for channel := range who {
		channels = append(channels, channel)
	}
	sub := p.rdb.Subscribe(context.Background(), channels...)
	p.place.t.Cleanup(func() { _ = sub.Close() })
	for range channels {
		_, err := sub.Receive(context.Background())
		require.NoError(p.place.t, err)
	}
	return func() []string {
		p.place.t.Helper()
		// What was published before this is in front of it.
		p.do("PUBLISH %s end", p.f.Channel)
		told := []string{}
		for {
			message, err := sub.ReceiveMessage(context.Background())
			require.NoError(p.place.t, err)
			if message.Payload == "end" {
				sort.Strings(told)
				return told
			}
			require.Equal(p.place.t, "0", message.Payload)
			told = append(told, who[message.Channel])
		}
	}
}

func (p *fairPlace) adopts(from, to string) luacall.Status {
	p.place.t.Helper()
	return run(p.place, p.adopt(from, to)).Status
}
