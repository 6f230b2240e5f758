package redlock

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/store"
)

// linger is how long a subscription without waiters lasts, as in package rlock.
const linger = time.Second

// ears is the store of the engine. What is asked of the nodes the lock itself asks; the store only hears what they
// publish. A release is published at each node that it ends a hold at, and any of these messages wakes a waiter: the
// releases were sent at the same time, and its request comes later.
//
// An attempt that did not get the lock is taken back in silence. A waiter that was refused because of it asks again
// after a random time by itself (see splitPause). If the take-back woke others, two waiters that find a minority of the
// nodes free would wake one another for as long as a third one holds.
type ears struct {
	*redisstore.Store
	client *Client
}

// Start implements [store.Store].
func (e *ears) Start(host store.Host) {
	e.client.host = host
	e.Store.Start(host)
}

// Name implements [store.Store].
func (*ears) Name() string { return storeName }

// Wait implements [store.Store].
func (e *ears) Wait() {
	for _, n := range e.client.nodes {
		if n.hub != nil {
			n.hub.Close()
			n.wants.Close()
		}
	}
	e.Store.Wait()
}

// Listen implements [store.Store].
func (e *ears) Listen(channel, _ string) store.Ticket {
	t := &ticket{c: make(chan struct{}, 1), ears: e, channel: channel}
	for _, n := range e.client.nodes {
		if n.hub != nil {
			t.at = append(t.at, n.hub.ListenOn(t.c, channel))
		}
	}
	return t
}

// Heard implements [store.Store]: what was heard at the first of the nodes that can be heard now. With every node the
// subscription is another one.
func (e *ears) Heard(channel string) store.Heard {
	for i, n := range e.client.nodes {
		if n.hub == nil {
			continue
		}
		if count := n.hub.Heard(channel); count.Subscription != 0 {
			count.Subscription = count.Subscription*uint64(len(e.client.nodes)) + uint64(i)
			return count
		}
	}
	return store.Heard{}
}

// Others implements [store.Store]. The client itself is not among the receivers of a release any more.
func (*ears) Others(_ string, receivers int64) int { return int(max(receivers, 0)) }

// ListenWanted implements [store.Store]. A lock on a quorum is not kept, so only breaks are heard of. The subscriptions
// have connections of their own: a user who may not listen to this channel still hears of releases.
func (e *ears) ListenWanted() {
	for _, n := range e.client.nodes {
		if n.wants != nil {
			n.wants.Listen(keys.Wanted(e.client.host.Client)) // for as long as the client lives
		}
	}
}

// TellBroken implements [store.Teller]. One message that arrives is enough.
func (e *ears) TellBroken(ctx context.Context, key, id string) {
	var all sync.WaitGroup
	for _, n := range e.client.nodes {
		if at, ok := n.server.(redisServer); ok {
			all.Go(func() {
				_ = at.rdb.Publish(ctx, keys.Wanted(store.ClientOf(id)), redisstore.BrokenMessage(key, id)).Err()
			})
		}
	}
	all.Wait()
}

// ticket is a waiter's, at all nodes.
type ticket struct {
	ears    *ears
	channel string
	c       chan struct{}
	at      []*wake.Ticket
}

// C implements [store.Ticket].
func (t *ticket) C() <-chan struct{} { return t.c }

// Ready implements [store.Ticket]. Nothing says that every release is heard: a node that is down may come back. But
// each confirmation of a node wakes the waiter, so it asks once more whatever happens to come first.
func (t *ticket) Ready() <-chan struct{} { return nil }

// Heard implements [store.Ticket].
func (t *ticket) Heard() store.Heard { return t.ears.Heard(t.channel) }

// Leave implements [store.Ticket].
func (t *ticket) Leave() {
	for _, at := range t.at {
		at.Leave()
	}
}

// newHubs listen to the server of a node, whose connections are vetted like all others: to releases, and to breaks.
func newHubs(c *Client, rdb *redis.Client) (hub, wants *wake.Hub) {
	releases := wake.Config{
		Open:    func(ctx context.Context) *redis.PubSub { return rdb.Subscribe(ctx) },
		Shard:   func(context.Context, string) string { return "" },
		Moved:   func(context.Context) {},
		Sharded: func(context.Context) (bool, error) { return false, nil },
		Wheel:   c.host.Wheel, Clock: c.host.Clock,
		Linger: linger, Limit: 2 * c.patience,
	}
	breaks := releases
	breaks.Said, breaks.Stands, breaks.Denied = redisstore.Hears(c.host), c.host.Missed, time.Minute
	return wake.New(releases), wake.New(breaks)
}

// listens reports whether releases can be heard of.
func (c *Client) listens() bool { return c.nodes[0].hub != nil }

// others is how many other clients a message reached at the node; negative if it was not published.
func (n *node) others(channel string, receivers int64) int64 {
	if receivers > 0 && n.hub != nil && n.hub.Subscribed(channel) {
		receivers--
	}
	return receivers
}

// splitPause is how long an attempt waits that got some of the nodes while others had the rest. It is random, so that
// one of them finds a quorum free, and grows with every such attempt, since there may be many of them.
func (h *hold) splitPause() time.Duration {
	const least, doublings = 4 * time.Millisecond, 5
	return rand.N((least + 2*h.client.delay()) << min(h.split, doublings))
}

// delay is how long a quorum of the nodes has taken to answer recently.
func (c *Client) delay() time.Duration {
	var delays []time.Duration
	for _, n := range c.nodes {
		delays = append(delays, n.delay())
	}
	slices.Sort(delays)
	return delays[c.quorum-1]
}
