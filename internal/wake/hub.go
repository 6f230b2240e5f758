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

	// Heard is called with the key of every message on a channel that was joined for a key. It runs in the
	// goroutine that listens, so it must be quick. Optional.
	Heard func(key string)

	Linger time.Duration // how long a channel without waiters stays subscribed
	Life   time.Duration // how long a connection may live; 0: no limit
	Limit  time.Duration // of one command
}

// Hub shares subscriptions. Its methods are safe for concurrent use.
type Hub struct {
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // the goroutines of all lines

	stands atomic.Uint64 // number of subscriptions ever confirmed

	mu     sync.Mutex // guards lines, closed
	lines  map[string]*line
	closed bool
}

// New returns a Hub. It sends nothing and starts nothing until the first Join.
func New(cfg Config) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	return &Hub{cfg: cfg, ctx: ctx, stop: stop, lines: make(map[string]*line)}
}

// Join asks to be woken by messages on channel. It does not wait for the network. Every ticket must be left.
func (h *Hub) Join(channel string) *Ticket { return h.JoinFor(channel, "") }

// JoinFor is Join for a caller that waits for a key. From now on, until nobody listens any more, Heard is called
// with that key for the channel's messages.
func (h *Hub) JoinFor(channel, key string) *Ticket {
	t := &Ticket{c: make(chan struct{}, 1)}
	h.line(h.cfg.Shard(h.ctx, channel)).join(channel, key, t)
	return t
}

// Subscribed reports whether Redis has confirmed a subscription to channel that is still in place. By it a
// publisher finds out whether the one receiver of its message was its own client.
func (h *Hub) Subscribed(channel string) bool { return h.Count(channel).Subscription != 0 }

// Count is how many messages of a channel were received so far. It does not wait.
func (h *Hub) Count(channel string) store.Count {
	h.mu.Lock()
	idle := len(h.lines) == 0
	h.mu.Unlock()
	if idle {
		return store.Count{} // and the map of the slots may not have been read yet
	}
	shard := h.cfg.Shard(h.ctx, channel)
	h.mu.Lock()
	l := h.lines[shard]
	h.mu.Unlock()
	if l == nil {
		return store.Count{}
	}
	return l.count(channel)
}

// Close ends every subscription and joins every goroutine. It does not wake tickets.
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
type Ticket struct {
	c chan struct{}

	mu    sync.Mutex // guards all below: they change when the channel moves to another node
	topic *topic
	ready chan struct{}
	left  bool
}

// C carries a wake-up: a message, or a renewed subscription. Unread wake-ups count as one.
func (t *Ticket) C() <-chan struct{} {
	return t.c
}

// Ready is closed once Redis has confirmed the subscription.
func (t *Ticket) Ready() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}

// Count is how many messages of the channel were received so far. Each is counted before it wakes, so a waiter
// that was woken finds its message counted.
func (t *Ticket) Count() store.Count {
	t.mu.Lock()
	on := t.topic
	t.mu.Unlock()
	return on.line.count(on.channel)
}

// Leave ends the ticket.
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

func (t *Ticket) wake() {
	select {
	case t.c <- struct{}{}:
	default:
	}
}
