package wake

import (
	"errors"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
)

// listen builds a connection, subscribes to every topic and passes on messages, until an error. It
// reports whether anything was received at all.
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
		msg, err := ps.ReceiveTimeout(ctx, wait)
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

// patience is how long to wait for the next message, bounded by the life of the connection.
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
func (l *line) publish(ps *redis.PubSub, sharded bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ps, l.sharded = ps, sharded
	signal(l.nudge)
	return l.hub.ctx.Err() == nil
}

// drop forgets the connection: no subscription is confirmed any more.
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
func (l *line) rehome() {
	l.mu.Lock()
	var moved []*topic
	for _, t := range l.topics {
		if l.hub.cfg.Shard(l.hub.ctx, t.channel) != l.shard {
			moved = append(moved, t)
			delete(l.topics, t.channel)
			l.hub.cfg.Wheel.Cancel(&t.idle)
		}
	}
	l.mu.Unlock()
	for _, t := range moved {
		l.hand(t)
	}
}

func (l *line) hand(t *topic) {
	l.mu.Lock()
	tickets, key := slices.Clone(t.tickets), t.key // tickets that leave meanwhile change the list
	l.mu.Unlock()
	if len(tickets) > 0 {
		l.hub.line(l.hub.cfg.Shard(l.hub.ctx, t.channel)).join(t.channel, key, tickets...)
	}
}

func (l *line) handle(msg any) error {
	switch m := msg.(type) {
	case *redis.Message:
		if key := l.message(m.Channel); key != "" && l.hub.cfg.Heard != nil {
			l.hub.cfg.Heard(key)
		}
	case *redis.Subscription:
		return l.subscription(m)
	}
	return nil
}

// message wakes the waiters of a channel. It returns the channel's key.
func (l *line) message(channel string) (key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[channel]
	if t == nil {
		return ""
	}
	t.count.Messages++
	t.wakeAll()
	return t.key
}

func (l *line) subscription(m *redis.Subscription) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[m.Channel]
	switch m.Kind {
	case "subscribe", "ssubscribe":
		if t != nil {
			t.confirm()
		}
	case "unsubscribe", "sunsubscribe":
		if l.leaving[m.Channel] > 0 {
			l.leaving[m.Channel]--
			if l.leaving[m.Channel] == 0 {
				delete(l.leaving, m.Channel)
			}
		} else if t != nil {
			return errUnsubscribed
		}
	}
	return nil
}

// confirm opens the topic and wakes every ticket: those that were here before may have missed a
// message while there was no subscription.
func (t *topic) confirm() {
	t.confirmed = true
	t.count = store.Count{Subscription: t.line.hub.stands.Add(1)}
	if !t.opened {
		t.opened = true
		close(t.ready)
	}
	t.wakeAll()
}

func (t *topic) wakeAll() {
	for _, ticket := range t.tickets {
		ticket.wake()
	}
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
