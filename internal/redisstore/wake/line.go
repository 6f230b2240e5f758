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
	// A server, or a firewall, that vanished without a word is noticed after at most twice this: a silence, and
	// a ping without an answer. In the meantime waiters depend on their polls, so a loss costs time and not
	// correctness. A shorter interval would have idle clients ping every node more often.
	quiet = 5 * time.Second

	// The pauses before a connection is built again double from the first to the last. A connection that was
	// merely closed is back before most waiters poll. While a node is down, each client dials it about once a
	// second for all its waiters together.
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second

	// unused is how long a line without channels keeps its connection. The next caller that waits finds it there. A
	// node that was replaced under another address is not asked for again, and nothing of it stays.
	unused = 30 * time.Second
)

var (
	errUnsubscribed = errors.New("wake: the server ended a subscription")
	errSilent       = errors.New("wake: no answer to a ping")
	errOld          = errors.New("wake: the connection has reached its age")
	errUnused       = errors.New("wake: nobody listens any more")
)

// line is one node's subscription connection. Two goroutines serve it: read builds the connection and
// listens, write sends changes while it lasts. So neither does a slow write delay messages, nor does
// a silent connection delay a subscription.
//
// Neither goroutine holds mu while it waits for the network. Both channels have room for one signal, are sent
// to without waiting, and are never closed: the goroutines end with the hub's context. A signal cannot be
// missed, because its sender changes the state under mu first, and its receiver looks at the state under mu
// afterwards. A signal that is left over costs one idle look.
//
// The connection belongs to read, which opens it and closes it when listen returns. Others close it only to
// make read return: write after a failed send, and hangUp. Closing twice is harmless.
//
// A line that nobody has needed for some time is over: read takes it out of the hub, and both goroutines end. A caller
// that comes at this moment is refused by add, and asks the hub again.
type line struct {
	hub   *Hub
	shard string
	nudge chan struct{} // to write: todo is not empty
	fresh chan struct{} // to read: there is a topic again

	mu      sync.Mutex        // guards all below
	topics  map[string]*topic // nil: the line is over, and gets none any more
	vacant  time.Duration     // since when there is no topic, if there is none
	leaving map[string]int    // unsubscriptions sent but not confirmed
	todo    []change
	// of the connection; nil while none is built, and then changes stay in todo
	ps      *redis.PubSub
	sharded bool
}

type change struct {
	channel   string
	subscribe bool
}

// topic is one channel and its waiters. Its fields are guarded by its line's mu.
type topic struct {
	line      *line
	channel   string
	key       string // for Heard; "": not called
	tickets   []*Ticket
	confirmed bool
	heard     store.Heard   // of the subscription that was confirmed last
	last      string        // the last message
	ready     chan struct{} // closed when confirmed for the first time
	// so that a second confirmation does not close it again
	opened bool // ready is closed
	idle   watchdog.Timer
}

// newLine starts nothing; Hub.line does so, unless the hub was closed.
func newLine(h *Hub, shard string) *line {
	return &line{
		hub: h, shard: shard,
		nudge: make(chan struct{}, 1), fresh: make(chan struct{}, 1),
		topics: make(map[string]*topic), leaving: make(map[string]int), vacant: h.cfg.Clock.Now(),
	}
}

// add puts tickets on a channel. It reports false if the line is over. It finds the topic and adds the tickets in one
// critical section. So expireTopic either finds waiters, and leaves the topic alone, or has taken it out of the map
// before add looks for it. In the second case add makes a new topic, and the two changes are sent in order: first the
// unsubscription, then the subscription.
//
// A confirmation carries only the channel's name. If the server is slower than the linger, the confirmation of
// the subscription before those two confirms the new topic too early:
//
//	client:  SUBSCRIBE c   UNSUBSCRIBE c   SUBSCRIBE c
//	read:        (1) confirmed        (2) ended       (3) confirmed
//
// A message that is published between the second and the third command is then missed although the ticket was
// ready. (3) makes up for it, because every confirmation wakes every ticket.
func (l *line) add(channel, key string, tickets ...*Ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.topics == nil {
		return false
	}
	t := l.topics[channel]
	if t == nil {
		t = &topic{line: l, channel: channel, ready: make(chan struct{})}
		t.idle.Init(expireTopic, t)
		l.topics[channel] = t
		l.pushLocked(change{channel, true})
		signal(l.fresh)
	}
	// A caller without a key does not take Heard away from those that listen for one.
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
	return true
}

// idleLocked starts the linger of a topic without waiters.
//
// The linger saves a round trip where waiters follow one another: the next one finds the subscription
// confirmed, and may try at once. add cancels the timer.
func (l *line) idleLocked(t *topic) {
	if len(t.tickets) == 0 {
		l.hub.cfg.Wheel.Schedule(&t.idle, l.hub.cfg.Clock.Now()+l.hub.cfg.Linger)
	}
}

// leave removes a ticket from its topic. The last one moves into its place, because the order of waiters means
// nothing here: a message wakes all of them, and the local queue decides who tries.
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
//
// A ticket may have been added after the timer fired and before this function got the mutex; then the topic has
// waiters, and stays. It may also have been added and left again, with a new timer under way: ending the topic a
// linger early does no harm. And the topic may be one that moved to another line, or was replaced; comparing it
// with the one in the map excludes that.
func expireTopic(arg any) {
	t := arg.(*topic)
	l := t.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(t.tickets) > 0 || l.topics[t.channel] != t {
		return
	}
	l.removeLocked(t)
	l.pushLocked(change{t.channel, false})
}

// removeLocked takes a topic off the line.
func (l *line) removeLocked(t *topic) {
	delete(l.topics, t.channel)
	l.vacant = l.hub.cfg.Clock.Now()
}

// pushLocked queues a change for write. The queue is bounded by the number of new channels and ends of lingers while a
// connection lasts or is being built; listen empties it when it starts again with all topics.
func (l *line) pushLocked(c change) {
	l.todo = append(l.todo, c)
	signal(l.nudge)
}

// signal never blocks. A signal that is there already will make its receiver look at everything.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// hangUp ends a read that is under way; see Hub.Close. It takes the connection under mu and closes it without,
// because closing may write.
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
//
// The connection can break, and read can build the next one, while write still sends changes on the old one.
// Those fail, and their loss does no harm: read subscribed the new connection to all topics of that moment. The
// numbers in leaving were counted under the same lock as ps was read, so drop, which comes after, clears them.
func (l *line) write() {
	defer l.hub.wg.Done()
	for {
		select {
		case <-l.hub.ctx.Done():
			return
		case <-l.nudge:
		}
		l.mu.Lock()
		if l.topics == nil {
			l.mu.Unlock()
			return
		}
		ps, sharded, todo := l.ps, l.sharded, l.todo
		// nothing is taken from todo: publish signals again when there is a connection
		if ps == nil {
			l.mu.Unlock()
			continue
		}
		l.todo = nil
		// Counted before they are sent: the server's answer can arrive before send returns, and must not look
		// like an unsubscription that nobody asked for.
		for _, c := range todo {
			if !c.subscribe {
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

// send writes one command, with the time limit of a command and without waiting for the answer, which read
// receives. Each channel has a command of its own, because several channels of different slots in one are
// refused.
func (l *line) send(ps *redis.PubSub, sharded bool, c change) error {
	ctx, cancel := context.WithTimeout(l.hub.ctx, l.hub.cfg.Limit)
	defer cancel()
	switch {
	case c.subscribe && sharded:
		return ps.SSubscribe(ctx, c.channel)
	case c.subscribe:
		return ps.Subscribe(ctx, c.channel)
	case sharded:
		return ps.SUnsubscribe(ctx, c.channel)
	default:
		return ps.Unsubscribe(ctx, c.channel)
	}
}

// read keeps a connection while there are channels to listen to, and for some time longer, until the hub is closed or
// the line is over.
//
// After every error the topics are looked up again (rehome), because the usual cause on a cluster is that a
// slot moved. A connection that has reached its age is replaced without a pause. What is published between two
// connections is not heard; the confirmations on the new one wake every ticket.
func (l *line) read() {
	defer l.hub.wg.Done()
	pause := firstPause
	for l.hub.ctx.Err() == nil {
		if !l.populated() {
			if l.end() {
				return
			}
			select {
			case <-l.hub.ctx.Done():
				return
			case <-l.fresh:
			case <-time.After(unused):
			}
			continue
		}
		heard, err := l.listen()
		if heard {
			pause = firstPause
		}
		l.drop()
		if errors.Is(err, errOld) || errors.Is(err, errUnused) {
			continue
		}
		l.hub.cfg.Moved(l.hub.ctx)
		wait := pause
		if redis.IsPermissionError(err) {
			wait = max(pause, l.hub.cfg.Denied)
			if l.hub.cfg.Refused != nil {
				l.hub.cfg.Refused()
			}
		}
		select {
		case <-l.hub.ctx.Done():
		case <-time.After(wait):
		}
		pause = min(2*pause, lastPause)
		l.rehome()
	}
}

// populated reports that there is something to listen to. A topic in its linger counts.
func (l *line) populated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.topics) > 0
}

// end makes the line be over, if nobody has needed it for long. What read finds here stays so, because a topic is only
// added to a line that is not over.
func (l *line) end() bool {
	l.mu.Lock()
	over := l.unusedLocked()
	if over {
		l.topics = nil
	}
	l.mu.Unlock()
	if over {
		l.hub.remove(l)
		signal(l.nudge) // write ends as well
	}
	return over
}

// isUnused reports that nobody has needed the line for long.
func (l *line) isUnused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unusedLocked()
}

func (l *line) unusedLocked() bool {
	return len(l.topics) == 0 && l.hub.cfg.Clock.Now()-l.vacant >= unused
}

// heard is what was heard of a channel while its subscription is confirmed, and otherwise zero: a number from before
// a gap says nothing about what was published in it.
func (l *line) heard(channel string) store.Heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[channel]; t != nil && t.confirmed {
		return t.heard
	}
	return store.Heard{}
}
