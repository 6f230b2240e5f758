package wake

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Config configures a Hub.
type Config struct {
	// Open makes a PubSub without channels; it sends nothing.
	Open func(ctx context.Context) *redis.PubSub
	// Shard names the node that serves a channel; Moved causes that map to be read again.
	Shard func(ctx context.Context, channel string) string
	Moved func(ctx context.Context)
	// Sharded reports whether to use SSUBSCRIBE.
	Sharded func(ctx context.Context) (bool, error)

	Wheel *watchdog.Wheel
	Clock *watchdog.Clock

	// Heard is called with the key of every message on a channel that somebody listens to for a key. It runs in the
	// goroutine that listens, so it must be quick. Optional.
	Heard func(key string)

	// Said is called with what each message says, in the same way. Optional.
	Said func(payload string)

	// Stands is called when a subscription was confirmed, the first time or again: what was published before may not
	// have been heard. It runs in the goroutine that listens, so it must be quick. Optional.
	Stands func()

	// Denied is how long to wait before the next try where the server says that the user may not listen; 0: as after
	// any other error.
	Denied time.Duration

	// Refused is called when the server says that, each time. It must be quick. Optional.
	Refused func()

	Linger time.Duration // how long a channel without waiters stays subscribed
	Life   time.Duration // how long a connection may live; 0: no limit
	Limit  time.Duration // of one command
}

// Hub shares subscriptions. Its methods are safe for concurrent use.
//
// Its mutexes are taken in the order line.mu, Ticket.mu. Hub.mu is taken alone: no function takes another of
// them while it holds Hub.mu, and a line releases its own before it asks the hub for another line, or is taken out.
//
// Listen starts a line's two goroutines, line.read and line.write, when the first channel of a node is listened to.
// They end when nobody has listened to any for half a minute, or with ctx, and Close joins them.
type Hub struct {
	// ctx ends with Close; it bounds every question to the network.
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // the goroutines of all lines

	stands atomic.Uint64 // number of subscriptions ever confirmed

	mu     sync.Mutex // guards lines, closed
	lines  map[string]*line
	closed bool
}

// New returns a Hub. It sends nothing and starts nothing until the first Listen.
func New(cfg Config) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	return &Hub{cfg: cfg, ctx: ctx, stop: stop, lines: make(map[string]*line)}
}

// Listen asks to be woken by messages on channel. It does not wait for the network. Every ticket must be left.
func (h *Hub) Listen(channel string) *Ticket { return h.ListenFor(channel, "") }

// ListenFor is Listen for a caller that waits for a key. From now on, until nobody listens any more, Heard is called
// with that key for the channel's messages.
//
// The ticket's channel has room for one wake-up, and a sender that finds it full drops its own. Nothing is lost
// by that: the wake-up inside was not received yet, so whatever the ticket's owner looks at next is newer than
// both messages. A server that publishes a thousand releases in a second therefore makes a slow waiter try
// once.
func (h *Hub) ListenFor(channel, key string) *Ticket {
	return h.listen(make(chan struct{}, 1), channel, key)
}

// ListenOn is Listen for a caller that listens to several hubs: the wake-ups of all come on one channel of its own,
// which must have room for one.
func (h *Hub) ListenOn(wakes chan struct{}, channel string) *Ticket {
	return h.listen(wakes, channel, "")
}

func (h *Hub) listen(wakes chan struct{}, channel, key string) *Ticket {
	t := &Ticket{c: wakes}
	h.add(channel, key, t)
	return t
}

// add puts tickets on a channel of the line that serves it. A line that is over refuses them. It is taken out here,
// because read may not have come to that.
func (h *Hub) add(channel, key string, tickets ...*Ticket) {
	for {
		l := h.line(h.cfg.Shard(h.ctx, channel))
		if l.add(channel, key, tickets...) {
			return
		}
		h.remove(l)
	}
}

// remove takes a line out that is over. It may be out already, with another in its place.
func (h *Hub) remove(l *line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines[l.shard] == l {
		delete(h.lines, l.shard)
	}
}

// Subscribed reports whether Redis has confirmed a subscription to channel that is still in place. By it a
// publisher finds out whether the one receiver of its message was its own client.
//
// PUBLISH answers how many clients got the message. If it answers 1 while this hub is subscribed, nobody else
// listens, and the publisher need not let others go first. The answer is a hint: the subscription may have
// begun or ended since the server counted. A wrong hint shifts a turn between processes; it delays nobody
// beyond its poll, because the message itself was sent all the same.
func (h *Hub) Subscribed(channel string) bool { return h.Heard(channel).Subscription != 0 }

// Heard is how many messages of a channel were received so far. It does not wait.
//
// Two counts can be compared only if they are of the same subscription. With an equal Subscription, a larger
// Messages shows that a message arrived in between. With another Subscription the connection was replaced, or
// the channel was left and listened to again, and any number of messages may have been missed. A caller must treat
// that as if there had been one.
func (h *Hub) Heard(channel string) store.Heard {
	h.mu.Lock()
	idle := len(h.lines) == 0
	h.mu.Unlock()
	if idle {
		return store.Heard{} // and the map of the slots may not have been read yet
	}
	shard := h.cfg.Shard(h.ctx, channel)
	h.mu.Lock()
	l := h.lines[shard]
	h.mu.Unlock()
	if l == nil {
		return store.Heard{}
	}
	return l.heard(channel)
}

// Close ends every subscription and joins every goroutine. It does not wake tickets.
//
// A connection that is being built must not survive Close. The order settles that: Close ends ctx first, and
// only then reads each line's connection under the line's mutex. If line.publish comes first, hangUp finds the
// connection and closes it. If hangUp comes first, publish finds that ctx has ended, and line.listen closes the
// connection itself. Closing is necessary because a read of go-redis does not end with its context.
//
// No goroutine is added to wg once Close waits for it: line adds to it under mu, and only while closed is
// false.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	lines := h.lines
	h.lines = make(map[string]*line)
	h.mu.Unlock()
	h.stop()
	for _, l := range lines {
		l.hangUp()
	}
	h.wg.Wait()
}

// line returns the line of a node, and starts it if there is none. Two callers that listen at the same time get
// the same one, because the search and the insertion are one critical section.
func (h *Hub) line(shard string) *line {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[shard]
	if l == nil {
		l = newLine(h, shard)
		if h.closed {
			return l // nobody will read it: its tickets stay silent, as after a lost connection
		}
		h.lines[shard] = l
		h.wg.Add(2)
		go l.read()
		go l.write()
	}
	return l
}

// Ticket is one waiter on a channel.
//
// Several goroutines of a hub send to c, none of them waits (see wake), and nobody closes it: a closed channel
// would wake its waiter for ever. A ticket of a closed hub stays silent; its waiter ends for another reason,
// which is that its own client was closed.
type Ticket struct {
	c chan struct{}

	mu sync.Mutex // guards all below: they change when the channel moves to another node
	// the channel's topic on the line that serves it now
	topic *topic
	// that topic's channel; line.confirm closes it, once
	ready chan struct{}
	left  bool
}

// C carries a wake-up: a message, or a renewed subscription. Unread wake-ups count as one.
func (t *Ticket) C() <-chan struct{} {
	return t.c
}

// Ready is closed once Redis has confirmed the subscription.
//
// It stays closed when the connection breaks later. That is safe: the first confirmation after the break wakes
// the ticket, and between the two its owner polls.
//
// A waiter that was moved to another node before the first confirmation keeps the channel that it got here,
// which nobody closes then. So a caller must bound its wait for Ready.
func (t *Ticket) Ready() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}

// Heard is how many messages of the channel were received so far. Each is counted before it wakes, so a waiter
// that was woken finds its message counted.
func (t *Ticket) Heard() store.Heard {
	t.mu.Lock()
	on := t.topic
	t.mu.Unlock()
	return on.line.heard(on.channel)
}

// Leave ends the ticket.
//
// The move of a channel to another node (line.rehome) can come in between. If place came first, topic is the
// new one. add holds the new line's mutex from place until the ticket is in the topic's list, so leave, which
// needs that mutex, finds the ticket there. If left was set first, place refuses the ticket, and leave removes
// it from the old topic, which no line knows any more. In neither case does a list keep a ticket that was left.
func (t *Ticket) Leave() {
	t.mu.Lock()
	t.left = true // set before the search, so that a move under way does not take the ticket along
	topic := t.topic
	t.mu.Unlock()
	topic.line.leave(topic, t)
}

// place puts the ticket on a topic, unless it was left.
func (t *Ticket) place(on *topic) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return false
	}
	t.topic, t.ready = on, on.ready
	return true
}

// wake never blocks: it is called with the mutex of a line held, in the goroutine that reads every message of a
// node. See ListenFor on why a wake-up that finds another one in the channel can be dropped.
func (t *Ticket) wake() {
	select {
	case t.c <- struct{}{}:
	default:
	}
}
