package wake

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

const (
	// quiet is how long a connection may be silent before it is pinged.
	quiet = 5 * time.Second

	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

var (
	errUnsubscribed = errors.New("wake: the server ended a subscription")
	errSilent       = errors.New("wake: no answer to a ping")
	errOld          = errors.New("wake: the connection has reached its age")
)

// line is one node's subscription connection. Two goroutines serve it: read builds the connection and
// listens, write sends changes while it lasts. So neither does a slow write delay messages, nor does
// a silent connection delay a subscription.
type line struct {
	hub   *Hub
	shard string
	nudge chan struct{} // to write: todo is not empty
	fresh chan struct{} // to read: there is a topic again

	mu      sync.Mutex // guards all below
	topics  map[string]*topic
	leaving map[string]int // unsubscriptions sent but not confirmed
	todo    []change
	ps      *redis.PubSub
	sharded bool
}

type change struct {
	channel string
	join    bool
}

// topic is one channel and its waiters. Its fields are guarded by its line's mu.
type topic struct {
	line      *line
	channel   string
	key       string // for Heard; "": not called
	tickets   []*Ticket
	confirmed bool
	count     store.Count   // of the subscription that was confirmed last
	ready     chan struct{} // closed when confirmed for the first time
	opened    bool          // ready is closed
	idle      watchdog.Timer
}

func newLine(h *Hub, shard string) *line {
	return &line{
		hub: h, shard: shard,
		nudge: make(chan struct{}, 1), fresh: make(chan struct{}, 1),
		topics: make(map[string]*topic), leaving: make(map[string]int),
	}
}

func (l *line) join(channel, key string, tickets ...*Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[channel]
	if t == nil {
		t = &topic{line: l, channel: channel, ready: make(chan struct{})}
		t.idle.Init(expireTopic, t)
		l.topics[channel] = t
		l.pushLocked(change{channel, true})
		signal(l.fresh)
	}
	if key != "" {
		t.key = key
	}
	l.hub.cfg.Wheel.Cancel(&t.idle)
	for _, ticket := range tickets {
		if ticket.place(t) {
			t.tickets = append(t.tickets, ticket)
		}
	}
	l.idleLocked(t)
}

// idleLocked starts the linger of a topic without waiters.
func (l *line) idleLocked(t *topic) {
	if len(t.tickets) == 0 {
		l.hub.cfg.Wheel.Schedule(&t.idle, l.hub.cfg.Clock.Now()+l.hub.cfg.Linger)
	}
}

func (l *line) leave(t *topic, ticket *Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range t.tickets {
		if other == ticket {
			last := len(t.tickets) - 1
			t.tickets[i] = t.tickets[last]
			t.tickets[last] = nil
			t.tickets = t.tickets[:last]
			l.idleLocked(t)
			return
		}
	}
}

// expireTopic runs on the wheel, so it only queues the work for the writer.
func expireTopic(arg any) {
	t := arg.(*topic)
	l := t.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(t.tickets) > 0 || l.topics[t.channel] != t {
		return
	}
	delete(l.topics, t.channel)
	l.pushLocked(change{t.channel, false})
}

func (l *line) pushLocked(c change) {
	l.todo = append(l.todo, c)
	signal(l.nudge)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (l *line) hangUp() {
	l.mu.Lock()
	ps := l.ps
	l.mu.Unlock()
	if ps != nil {
		_ = ps.Close()
	}
}

// write sends subscriptions and unsubscriptions that come up while the connection lasts. When read
// builds a connection, it subscribes to every topic; later changes wait until read is done, so that
// there is one order.
func (l *line) write() {
	defer l.hub.wg.Done()
	for {
		select {
		case <-l.hub.ctx.Done():
			return
		case <-l.nudge:
		}
		l.mu.Lock()
		ps, sharded, todo := l.ps, l.sharded, l.todo
		if ps == nil {
			l.mu.Unlock()
			continue
		}
		l.todo = nil
		for _, c := range todo {
			if !c.join {
				l.leaving[c.channel]++
			}
		}
		l.mu.Unlock()
		for _, c := range todo {
			if err := l.send(ps, sharded, c); err != nil {
				_ = ps.Close() // read sees it and rebuilds the connection
				break
			}
		}
	}
}

func (l *line) send(ps *redis.PubSub, sharded bool, c change) error {
	ctx, cancel := context.WithTimeout(l.hub.ctx, l.hub.cfg.Limit)
	defer cancel()
	switch {
	case c.join && sharded:
		return ps.SSubscribe(ctx, c.channel)
	case c.join:
		return ps.Subscribe(ctx, c.channel)
	case sharded:
		return ps.SUnsubscribe(ctx, c.channel)
	default:
		return ps.Unsubscribe(ctx, c.channel)
	}
}

// read keeps a connection while there are channels to listen to, until the hub is closed.
func (l *line) read() {
	defer l.hub.wg.Done()
	pause := firstPause
	for l.hub.ctx.Err() == nil {
		if !l.populated() {
			select {
			case <-l.hub.ctx.Done():
				return
			case <-l.fresh:
			}
			continue
		}
		heard, err := l.listen()
		if heard {
			pause = firstPause
		}
		l.drop()
		if errors.Is(err, errOld) {
			continue
		}
		l.hub.cfg.Moved(l.hub.ctx)
		select {
		case <-l.hub.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
		l.rehome()
	}
}

func (l *line) populated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.topics) > 0
}
