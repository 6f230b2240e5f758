package wake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
)

// listen builds a connection, subscribes to every topic and passes on messages, until an error. It
// reports whether anything was received at all.
//
// The topics are read before the connection is published. A channel that is added between the two is in todo,
// from where write subscribes to it once there is a connection; one that ends between the two is unsubscribed
// after it was subscribed. So the server's state follows the map, in the same order.
//
// An answer of any kind, also to a ping, shows that the connection lives. Only the second silence in a row ends
// it, or that nobody has listened for long.
func (l *line) listen() (heard bool, err error) {
	ctx := l.hub.ctx
	sharded, err := l.hub.cfg.Sharded(ctx)
	if err != nil {
		return false, err
	}
	ps := l.hub.cfg.Open(ctx)
	defer func() { _ = ps.Close() }()
	for _, channel := range l.channels() {
		if err := l.send(ps, sharded, change{channel, true}); err != nil {
			return false, err
		}
	}
	if !l.publish(ps, sharded) {
		return false, ctx.Err()
	}
	born := time.Now()
	asked := false
	for {
		wait, err := l.patience(born)
		if err != nil {
			return heard, err
		}
		if l.isUnused() {
			return heard, errUnused
		}
		msg, err := receive(ctx, ps, wait)
		if timedOut(err) && !asked {
			asked = true
			if err := ps.Ping(ctx); err != nil {
				return heard, err
			}
			continue
		}
		if timedOut(err) {
			return heard, errSilent
		}
		if err != nil {
			return heard, err
		}
		heard, asked = true, false
		if err := l.handle(msg); err != nil {
			return heard, err
		}
	}
}

// receive waits for the next message. What is no message is an error: go-redis takes a frame apart without looking at
// its types, and panics.
func receive(ctx context.Context, ps *redis.PubSub, wait time.Duration) (msg any, err error) {
	defer func() {
		if p := recover(); p != nil {
			msg, err = nil, fmt.Errorf("wake: the server sent no valid message: %v", p)
		}
	}()
	return ps.ReceiveTimeout(ctx, wait)
}

// patience is how long to wait for the next message, bounded by the life of the connection.
//
// An example with a life of 7.5 s: messages stop after 4 s. The first wait ends at 7.5 s and not at 9 s; a ping
// is sent; the next call returns errOld, and the connection is replaced before its answer was waited for.
func (l *line) patience(born time.Time) (time.Duration, error) {
	life := l.hub.cfg.Life
	if life == 0 {
		return quiet, nil
	}
	left := life - time.Since(born)
	if left <= 0 {
		return 0, errOld
	}
	return min(quiet, left), nil
}

// channels returns all channels to subscribe to now. Later changes are in todo.
func (l *line) channels() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.todo = nil
	channels := make([]string, 0, len(l.topics))
	for channel := range l.topics {
		channels = append(channels, channel)
	}
	return channels
}

// publish makes ps the line's connection, to which changes are sent. It reports false if the hub was
// closed meanwhile, before there was a connection to close.
//
// The signal makes write look at todo: changes may have come while there was no connection to send them on.
func (l *line) publish(ps *redis.PubSub, sharded bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ps, l.sharded = ps, sharded
	signal(l.nudge)
	return l.hub.ctx.Err() == nil
}

// drop forgets the connection: no subscription is confirmed any more.
//
// Until the next confirmation Heard is zero, so a publisher of this client does not take itself for a receiver,
// and a waiter that compares counts sees another subscription. Tickets keep their place, and Ready stays
// closed.
func (l *line) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ps = nil
	clear(l.leaving)
	for _, t := range l.topics {
		t.confirmed = false
	}
}

// rehome moves topics whose slot is now on another node to that node's line.
//
// Only read calls it, between two connections, so no message can arrive for a topic that is in neither map. A
// ticket that is added during the move asks for the channel's node itself, and creates the topic there; hand then
// adds the moved tickets to it. If two reads of the map disagree and the topic lands on a node that does not
// serve it, that node refuses the subscription, and its line looks again.
//
// Topics without waiters are not handed on. Their subscriptions ended with the connection.
func (l *line) rehome() {
	l.mu.Lock()
	var moved []*topic
	for _, t := range l.topics {
		if l.hub.cfg.Shard(l.hub.ctx, t.channel) != l.shard {
			moved = append(moved, t)
			l.removeLocked(t)
			l.hub.cfg.Wheel.Cancel(&t.idle)
		}
	}
	l.mu.Unlock()
	for _, t := range moved {
		l.hand(t)
	}
}

// hand gives the waiters of a topic to the line that serves its channel now. This line's mutex is free by then:
// two lines that hand topics to each other would otherwise wait for each other's.
func (l *line) hand(t *topic) {
	l.mu.Lock()
	tickets, key := slices.Clone(t.tickets), t.key // tickets that leave meanwhile change the list
	l.mu.Unlock()
	if len(tickets) > 0 {
		l.hub.add(t.channel, key, tickets...)
	}
}

// handle calls Heard without a mutex held, because the engine takes its own in it. The tickets were woken before;
// neither depends on the other's order, as both lead to a look at Redis.
func (l *line) handle(msg any) error {
	switch m := msg.(type) {
	case *redis.Message:
		if key := l.message(m.Channel, m.Payload); key != "" && l.hub.cfg.Heard != nil {
			l.hub.cfg.Heard(key)
		}
		if l.hub.cfg.Said != nil {
			l.hub.cfg.Said(m.Payload)
		}
	case *redis.Subscription:
		stands, err := l.subscription(m)
		if stands && l.hub.cfg.Stands != nil {
			l.hub.cfg.Stands()
		}
		return err
	}
	return nil
}

// message wakes the waiters of a channel, and returns its key; "" if it is listened to for none. A message for a
// channel that was left is dropped: it was under way when the unsubscription was sent.
//
// Messages are counted because each is a release. A writer's release publishes two: '1' for all waiters, and then '0'
// for a thread of Java's that was about to sleep (rw_write_release.lua). If both counted, a process would take its own
// release for the turn of another one.
func (l *line) message(channel, payload string) (key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[channel]
	if t == nil {
		return ""
	}
	if payload != "0" || t.last != "1" {
		t.heard.Messages++
	}
	t.last = payload
	t.wakeAll()
	return t.key
}

// subscription handles the server's answers to subscriptions and unsubscriptions. A server whose slot moves
// away ends the subscriptions to the slot's channels without being asked. Only the number of unsubscriptions
// under way distinguishes that from an answer. If it was not asked for and the channel still has a topic, the
// connection is rebuilt. It reports that a subscription was confirmed.
func (l *line) subscription(m *redis.Subscription) (stands bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[m.Channel]
	switch m.Kind {
	case "subscribe", "ssubscribe":
		if t != nil {
			t.confirm()
			return true, nil
		}
	case "unsubscribe", "sunsubscribe":
		if l.leaving[m.Channel] > 0 {
			l.leaving[m.Channel]--
			if l.leaving[m.Channel] == 0 {
				delete(l.leaving, m.Channel)
			}
		} else if t != nil {
			return false, errUnsubscribed
		}
	}
	return false, nil
}

// confirm opens the topic and wakes every ticket: those that were here before may have missed a
// message while there was no subscription.
//
// The number of the subscription is new every time, over all lines of the hub, so counts before and after a gap
// are never taken for the same. The caller holds the line's mutex.
func (t *topic) confirm() {
	t.confirmed = true
	t.heard = store.Heard{Subscription: t.line.hub.stands.Add(1)}
	t.wakeAll() // before Ready is closed: a waiter that sees Ready finds this wake-up too, and asks once for both
	if !t.opened {
		t.opened = true
		close(t.ready)
	}
}

// wakeAll wakes all waiters and not only one. It cannot know which of them Redis would serve, and one that is
// woken and has given up meanwhile would swallow the message. The local queue lets one of them try.
func (t *topic) wakeAll() {
	for _, ticket := range t.tickets {
		ticket.wake()
	}
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
