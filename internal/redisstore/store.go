package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
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
// A store has no goroutine of its own, and no mutex but those of its estimates of the servers' clocks, of what was
// answered and of the places of callers, which are taken alone. What several goroutines share is either fixed by Start,
// which runs before the first request, or one of the two flags, which only ever change from false to true. A goroutine
// that reads such a flag too early sends one more script that is refused, or logs nothing.
// The goroutines of the pipe, the hub and the links end in the order End, HangUp, Wait.
type Store struct {
	links   *links.Links
	confirm Confirmation

	traffic *pipeline.Pipe // sends all but renewals, and what replicas or disks confirm
	hub     *wake.Hub      // hears of releases
	wants   *wake.Hub      // hears who wants what this client may not need
	host    store.Host
	clocks  serverclock.Clocks
	settled settled
	places  places

	used    func()      // called when something was taken or renewed; nil: nothing is
	unheard atomic.Bool // the log says that releases are not published
	oneSlot atomic.Bool // the keys of a script must be in one slot: see learnSlots
	keeping sync.Once   // it listens to those who want what this client keeps, from then on
}

// New returns a store over connections that it will close.
func New(conns *links.Links, confirm Confirmation) *Store {
	s := &Store{links: conns, confirm: confirm}
	s.oneSlot.Store(conns.Cluster())
	s.clocks.Serves = s.Serves
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
// not go through the pipe, whose workers many waiters for the lock may keep busy.
func (s *Store) Start(host store.Host) {
	s.host = host
	if host.OnCommand != nil {
		s.links.Hook(Reporter(host.Clock, host.OnCommand))
	}
	s.traffic = pipeline.New(pipeline.Config{
		Client: s.links.Traffic, Shard: s.Node, Serves: s.Serves, OneSlot: &s.oneSlot, Limit: host.Limit,
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
	wants.Heard, wants.Said, wants.Stands, wants.Denied = nil, Hears(host), host.Missed, time.Minute
	wants.Refused = func() { host.Deaf("+subscribe &" + keys.Wanted("*")) }
	wants.Sharded = func(context.Context) (bool, error) { return false, nil } // see fragment_want.lua
	s.hub, s.wants = wake.New(releases), wake.New(wants)
	s.links.OnReplaced(host.Replaced)
}

// Name implements [store.Store].
func (s *Store) Name() string { return Name }

// Node implements [store.Store]. It asks nobody: before a cluster's map of the slots is known, all keys have one node.
func (s *Store) Node(key string) string { return s.links.Shard(context.Background(), key) }

// Serves implements [store.Store].
func (s *Store) Serves(node string) bool { return s.links.Serves(node) }

// Ready makes sure, on a cluster, that it is known how releases are published and where every slot is. A caller
// that acquires must be able to release such that others hear it, and to renew even if the node that would be asked
// for the slots first does not answer by then.
//
// It runs before the first request, when nothing is held yet. Otherwise the question would come up with a hold:
// a hold whose client cannot find out the command by which others listen would be released unheard.
func (s *Store) Ready(ctx context.Context, limit time.Duration) error {
	err := meaning(s.links.Ready(ctx, limit))
	if err != nil && store.FaultOf(err) == store.FaultAmbiguous { // of a question, and not of what was to be sent
		return &store.Failure{Fault: store.FaultTransient, Err: err}
	}
	return err
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
func (s *Store) End() {
	s.links.Leave()
	s.traffic.End()
}

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

// brokenMark begins a message that says that a hold was broken. It is no id.
const brokenMark = "broken "

// Hears takes in the messages to a client: of fragment_want.lua, and of TellBroken.
func Hears(host store.Host) func(message string) {
	return func(message string) {
		about, broken := strings.CutPrefix(message, brokenMark)
		id, key, ok := strings.Cut(about, " ")
		switch {
		case ok && broken:
			host.Broken(key, id)
		case ok:
			host.Wanted(key, id)
		}
	}
}

// TellBroken implements [store.Teller]. On a cluster any node passes the message on to all others. It may be forbidden
// to this user.
func (s *Store) TellBroken(ctx context.Context, key, id string) {
	_ = s.links.Traffic.Publish(ctx, keys.Wanted(store.ClientOf(id)), BrokenMessage(key, id)).Err()
}

// BrokenMessage tells the client of a hold that it was broken.
func BrokenMessage(key, id string) string { return brokenMark + id + " " + key }

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
		"poll: grant the user this right, unless the command is renamed away", "rights", right+" &"+p.Channel(),
		"lock", p.Name())
}

// learnSlots records what a refusal says about slots.
//
// A client of one address may still talk to a server that wants the keys of a script in one slot: a cluster of one
// node, or a proxy before a larger one. That shows when a script of several locks is refused, which may happen at
// any time: one of a set, a batch of renewals, or a bundle of the pipe, which shares the flag. The locks are then
// served one by one, and from then on slot by slot. A refused script did not run, so no new doubt arises.
//
// Two goroutines may learn it at the same time, and a third may already send another script of several slots.
// That one is refused too, and served one by one.
func (s *Store) learnSlots(err error) {
	if luacall.Crossed(err) {
		s.oneSlot.Store(true)
	}
}

// refusesMany reports that what was refused as one script may be carried out as several. A slot that is being
// migrated answers scripts of several keys with TRYAGAIN until the end; scripts of one key work all the time.
// Proxies have their own wording, and one lock may be forbidden where others are not. Scripts that find their own
// ways handle this themselves.
func (s *Store) refusesMany(err error) bool {
	return s.links.Traffic != nil && (redis.IsTryAgainError(err) || refusedScript(err))
}

// refusedScript reports that a server refused a script, which did not run then. That WAIT or WAITAOF was refused after
// it says nothing about the script.
func refusedScript(err error) bool {
	var short *store.ShortfallError
	return luacall.Refused(err) && !errors.As(err, &short)
}

// AcquireAll implements [store.Store]. If it is forbidden, some locks may have been taken already, just as when they
// are taken one by one.
//
// The members' scripts run as one, which nothing can come in between, so the answer holds for all members at
// one moment. ErrApart is returned only if the script was refused. The refusal of an unknown proxy may come after a
// part of it. A slot that is being migrated refuses until it has moved, which no smaller script would change: all of
// its keys must be at one node for a name that is free.
func (s *Store) AcquireAll(
	ctx context.Context, members []store.Member, id string, when store.Timing,
) (store.AcquireAllReply, store.Receipt, error) {
	all := make([]luacall.Member, len(members))
	for i, m := range members {
		take, _ := Unbind(m.Proto).(SetMember).Scripts()
		all[i] = luacall.Member{Acquirer: take, Lease: m.Lease.Milliseconds()}
	}
	key := members[0].Proto.Key()
	var got luacall.AcquireAllReply
	send := func(
		ctx context.Context, conn luacall.Conn, within serverclock.Window,
	) (answer serverclock.Answer, wrote bool, err error) {
		got, err = luacall.AcquireAll(all, id, within.NotAfter).Run(ctx, conn)
		wrote = got.Status.Wrote()
		s.noteUse(err == nil && wrote)
		return answered(got.Status, got.Now), wrote, err
	}
	receipt, err := s.timed(ctx, key, &store.Ask{Timing: when}, send)
	s.learnSlots(err)
	if s.links.Traffic != nil && refusedScript(err) && !store.Denied(err) {
		err = &store.Failure{Fault: store.FaultAmbiguous, Err: fmt.Errorf("%w: %w", store.ErrApart, err)}
	}
	return got.AcquireAllReply, receipt, err
}

// ReleaseAll implements [store.Store].
//
// If it fails, none of the replies is set. After a lost answer the members may be released all the same; a release
// that is repeated is then answered "gone".
func (s *Store) ReleaseAll(ctx context.Context, all []*store.Parting) error {
	partings := make([]luacall.Parting, len(all))
	for i, one := range all {
		_, release := Unbind(one.Proto).(SetMember).Scripts()
		partings[i] = luacall.Parting{Releaser: release, ID: one.ID}
	}
	replies, err := luacall.ReleaseAll(partings, s.Sharded()).Run(ctx, s.traffic)
	if err == nil {
		for i, one := range all {
			one.Reply = replies[i].ReleaseReply
			s.noteUnheard(Unbind(one.Proto), one.Reply)
		}
		return nil
	}
	s.learnSlots(err)
	if luacall.Crossed(err) {
		return &store.Failure{Fault: store.FaultDefinite, Err: fmt.Errorf("%w: %w", store.ErrApart, err)}
	}
	return meaning(err) // while the slot is being migrated, some may have been released one by one
}

// ReleaseEach implements [store.Store].
//
// The releases share pipelines but are independent: each has its own reply or error. A script looks at the server's
// clock before it looks at the hold: if that is past the time until when a request for the id may be carried out,
// nothing can take it any more.
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	calls := make([]*luacall.Call[luacall.ReleaseReply], len(all))
	for i, one := range all {
		calls[i] = Unbind(one.Proto).Release(one.ID, s.Sharded(), one.Late > 0)
	}
	sent := s.host.Clock.Now()
	luacall.RunAll(ctx, s.links.Traffic, calls)
	for i, one := range all {
		reply := calls[i].Reply
		one.Reply, one.Err, one.Again = reply.ReleaseReply, meaning(calls[i].Err), 0
		if one.Err == nil && one.Late > 0 {
			s.clocks.Observe(s.Node(one.Proto.Key()), sent, s.host.Clock.Now(), reply.Now)
			one.Again = serverclock.Again(one.Late, reply.Now)
		}
	}
}
