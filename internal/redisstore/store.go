package redisstore

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/pipeline"
	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Name is what errors and logs call the store.
const Name = "Redis"

// linger is how long a subscription without waiters lasts.
//
// It is long compared with the time between two waiters of a contended name, for which it saves a round trip,
// and short compared with how long a name that nobody wants should burden the server.
const linger = time.Second

// Store keeps locks in Redis. It implements [store.Store].
//
// A store has no goroutine of its own, and no mutex but those of its estimates of the servers' clocks and of what was
// answered, which are taken alone. What several goroutines share is either fixed by Start, which runs before the first
// request, or one of the two flags, which only ever change from false to true. A goroutine that reads such a flag too
// early sends one more script that is refused, or logs nothing.
// The goroutines of the pipe, the hub and the links end in the order End, HangUp, Wait.
type Store struct {
	links   *links.Links
	confirm Confirmation

	traffic *pipeline.Pipe // sends everything but renewals
	hub     *wake.Hub      // hears of releases
	wants   *wake.Hub      // hears who wants what this client may not need
	host    store.Host
	clocks  serverclock.Clocks
	settled settled

	used    func()      // called when something was taken or renewed; nil: nothing is
	unheard atomic.Bool // the log says that releases are not published
	oneSlot atomic.Bool // the keys of a script must be in one slot: see learnSlots
	keeping sync.Once   // it listens to those who want what this client keeps, from then on
}

// New returns a store over connections that it will close.
func New(conns *links.Links, confirm Confirmation) *Store {
	s := &Store{links: conns, confirm: confirm}
	s.oneSlot.Store(conns.Cluster())
	return s
}

// OnUse sets a function that is called whenever something was taken or renewed. It must not wait, and must be set
// before Start.
func (s *Store) OnUse(fn func()) { s.used = fn }

// noteUse calls what OnUse has set.
func (s *Store) noteUse(wrote bool) {
	if wrote && s.used != nil {
		s.used()
	}
}

// Start implements [store.Store].
//
// A subscription's command may need a new connection, so its limit includes dialling and greeting. Renewals do
// not go through the pipe: they have their own client, which many waiters for the lock cannot keep busy.
func (s *Store) Start(host store.Host) {
	s.host = host
	if host.OnCommand != nil {
		s.links.Hook(Reporter(host.Clock, host.OnCommand))
	}
	s.traffic = pipeline.New(pipeline.Config{
		Client: s.links.Traffic, Shard: s.Node, OneSlot: &s.oneSlot, Limit: host.Limit,
	})
	releases := wake.Config{
		Open:    func(ctx context.Context) *redis.PubSub { return s.links.Traffic.Subscribe(ctx) },
		Shard:   s.links.Shard,
		Moved:   s.links.Moved,
		Sharded: s.links.Sharded,
		Heard:   host.Heard,
		Wheel:   host.Wheel, Clock: host.Clock,
		Linger: linger, Life: s.links.Life(), Limit: s.links.Greeting() + host.Limit,
	}
	wants := releases
	wants.Heard, wants.Said = nil, s.noteWanted
	wants.Sharded = func(context.Context) (bool, error) { return false, nil } // see fragment_want.lua
	s.hub, s.wants = wake.New(releases), wake.New(wants)
	s.links.OnReplaced(host.Replaced)
}

// Name implements [store.Store].
func (s *Store) Name() string { return Name }

// Node implements [store.Store].
func (s *Store) Node(key string) string { return s.links.Shard(context.Background(), key) }

// Ready makes sure, on a cluster, that it is known how releases are published and where every slot is. A caller
// that acquires must be able to release such that others hear it, and to renew even if the node that would be asked
// for the slots first does not answer by then.
//
// It runs before the first request, when nothing is held yet. Otherwise the question would come up with a hold:
// a hold whose client cannot find out the command by which others listen would be released unheard.
func (s *Store) Ready(ctx context.Context, limit time.Duration) error {
	return meaning(s.links.Ready(ctx, limit))
}

// Within implements [store.Store].
func (s *Store) Within(ctx context.Context, limit time.Duration) context.Context {
	return links.Within(ctx, limit)
}

// WithinAll implements [store.Store].
func (s *Store) WithinAll(ctx context.Context, limit, all time.Duration) context.Context {
	return links.WithinAll(ctx, limit, all)
}

// Direct reports whether a request goes only through the pipe, which lets it return when its context ends. That is
// not so if a request sends several commands, or by other ways.
//
// Where writes are confirmed a request is a script and WAIT or WAITAOF on a connection of their own, which the pipe
// does not know. While the kind of the cluster is unknown, a request first asks for it.
func (s *Store) Direct() bool { return !s.confirm.asked() && s.links.Known() }

// Replaceable implements [store.Store].
func (s *Store) Replaceable() bool { return s.links.Replaceable() }

// Slot implements [store.Store].
func (s *Store) Slot(key string) int {
	if !s.oneSlot.Load() {
		return 0
	}
	return keys.Slot(key)
}

// Sharded reports whether messages are published by SPUBLISH. It asks nothing, since a release calls it: a client that
// holds something has the answer, because Ready asked for it.
func (s *Store) Sharded() bool { return s.links.KnownSharded() }

// End implements [store.Store].
//
// Close calls it first: callers that wait for Redis return now, and what was written to a connection stays
// accounted for until Wait.
func (s *Store) End() { s.traffic.End() }

// HangUp implements [store.Store].
//
// Closing the connections ends every exchange that is still under way. So Wait, which comes next, does not
// last.
func (s *Store) HangUp() { _ = s.links.Close() }

// Wait implements [store.Store].
func (s *Store) Wait() {
	s.traffic.Join()
	s.hub.Close()
	s.wants.Close()
}

// Late implements [store.Store].
func (s *Store) Late(key string, late store.Late) time.Duration {
	return s.clocks.Left(s.Node(key), s.host.Clock.Now(), int64(late))
}

// Instant implements [store.Store]. It is a time of the server's clock, in µs.
func (s *Store) Instant(key string, in time.Duration) int64 {
	return s.clocks.Latest(s.Node(key), s.host.Clock.Now()) + in.Microseconds()
}

// Listen implements [store.Store].
func (s *Store) Listen(channel, key string) store.Ticket {
	if key == "" {
		return s.hub.Listen(channel)
	}
	return s.hub.ListenFor(channel, key)
}

// ListenWanted implements [store.Store]. Nothing waits for the subscription, which has a connection of its own: a user
// who may not listen to this channel still hears of releases.
func (s *Store) ListenWanted() {
	s.keeping.Do(func() { s.wants.Listen(keys.Wanted(s.host.Client)) }) // for as long as the client lives
}

// noteWanted takes in a message of fragment_want.lua.
func (s *Store) noteWanted(message string) {
	if id, key, ok := strings.Cut(message, " "); ok {
		s.host.Wanted(key, id)
	}
}

// Heard implements [store.Store].
func (s *Store) Heard(channel string) store.Heard { return s.hub.Heard(channel) }

// Others implements [store.Store]. Without sharded messages a cluster's node counts only its own subscribers;
// Others then assumes one other client.
//
// An example: PUBLISH answered 3, and this client is subscribed to the channel. Then two other clients listen,
// and the releasing one lets them go first. If it answered 1, nobody else listens, and this client's own
// waiters need not hold back. Both numbers may be out of date by the time they are compared. That is a matter
// of fairness alone: the message was sent before, to everybody who listened.
func (s *Store) Others(channel string, receivers int64) int {
	if s.links.Cluster() && !s.Sharded() {
		return 1
	}
	if s.hub.Subscribed(channel) {
		receivers--
	}
	return int(max(receivers, 0))
}

// noteUnheard logs, once, that releases are not published. A released lock is free all the same, but a waiter in
// another process notices it only by its poll, every MaxPoll.
func (s *Store) noteUnheard(p Protocol, reply store.ReleaseReply) {
	if reply.Receivers >= 0 || s.unheard.Swap(true) {
		return
	}
	right := "+publish"
	if s.Sharded() {
		right = "+spublish"
	}
	s.host.Warn("Redis refused to publish a release, so waiters in other processes notice it only when they "+
		"poll: grant the user this right", "rights", right+" &"+p.Channel(), "lock", p.Name())
}
