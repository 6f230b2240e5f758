package request

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	// maxOrphans bounds what is remembered. Whatever is forgotten ends with its lease.
	maxOrphans = 1 << 16
	// placeLife is for how long a place in the store's queue is released in vain. It has no lease: it stands while its
	// client is heard of, and without that as long as the queue is kept.
	placeLife = 15 * time.Minute
)

// reclaimer releases holds of which no context says any more that they are held, but that may stand in Redis, or
// come to stand there when a request that was given up is read late. It goes on until a reply proves that nothing
// can be left: the release was answered at a server time beyond the request's not-after. Without an answer it ends
// when not-after and the hold's own lease have passed; where waiters have places in the store, much later.
//
// Each node has its own goroutine while there is something to reclaim on it, so that one that hangs
// holds up nobody else's. While a node does not answer it is probed, by one batch at a time and ever more
// rarely, however many orphans wait for it: each try may cost a dial.
type reclaimer struct {
	sender *Sender

	mu    sync.Mutex // guards all below, and every chore
	nodes map[string]*chore
	count int // orphans of all nodes, without those that are being released
}

// chore is what there is to reclaim on one node.
type chore struct {
	orphans []orphan
	asked   []orphan      // those that are being released, and so are not in orphans
	since   time.Duration // when a request was first sent that the node has not answered; see until
	most    int           // how many go into one pipeline: fewer after one that broke
	due     time.Duration // the node is left alone until then, since it does not answer
	pause   time.Duration // and for how long after the next failure
	nudge   chan struct{}
}

type orphan struct {
	Orphan
	due, end time.Duration // when to try next, and when nothing can be left
	pause    time.Duration
	since    time.Duration // when a request for it was first sent that was not answered
	again    bool          // it was released before, and is remembered for that
}

// Orphan is a hold id that is nobody's any more.
type Orphan struct {
	Proto    store.Protocol
	ID       string
	NotAfter int64 // until when a request for it may come late, in server time in µs; 0: nothing can
}

// Reclaim releases a hold id, which was to be kept for lease at most. It does not wait.
//
// A release is safe to send at any time, for any id, as often as wanted: it removes the field of that id and nothing
// else, and an id is never used for a second hold. So the reclaimer does not have to know whether the request that
// it cleans up after was carried out, or whether somebody else released the id.
func (s *Sender) Reclaim(o Orphan, lease time.Duration) {
	now := s.cfg.Clock.Now()
	s.reclaim.place(orphan{Orphan: o, due: now, since: now}, lease)
}

// ReclaimFrom is Reclaim for a hold that must not be released before an instant.
func (s *Sender) ReclaimFrom(due time.Duration, o Orphan, lease time.Duration) {
	s.reclaim.place(orphan{Orphan: o, due: due, since: max(due, s.cfg.Clock.Now())}, lease)
}

// Resume is Reclaim for a hold of which a request, its release perhaps, was first sent at an instant, and was not
// answered. It returns until when it goes on without an answer: by then the lease has ended.
func (s *Sender) Resume(since time.Duration, o Orphan, lease time.Duration) (until time.Duration) {
	return s.reclaim.place(orphan{Orphan: o, due: s.cfg.Clock.Now(), since: since}, lease)
}

// Owed is how many releases have not been confirmed that nobody waits for.
func (s *Sender) Owed() int {
	s.reclaim.mu.Lock()
	defer s.reclaim.mu.Unlock()
	owed := s.reclaim.count
	for _, c := range s.reclaim.nodes {
		owed += len(c.asked)
	}
	return owed
}

// again is add for a hold that was released, perhaps where that counts for nothing any more.
func (r *reclaimer) again(p store.Protocol, id string) {
	r.place(orphan{Orphan: Orphan{Proto: p, ID: id}, since: r.sender.cfg.Clock.Now(), again: true}, r.sender.cfg.Lease)
}

func (r *reclaimer) place(o orphan, lease time.Duration) (until time.Duration) {
	s := r.sender
	node, now := s.cfg.Store.Node(o.Proto.Key()), s.cfg.Clock.Now()
	late := now
	if o.NotAfter > 0 {
		late = max(now, s.clocks.Local(node, o.NotAfter, now))
	}
	o.due, o.pause = max(now, o.due), FirstPause
	o.end = max(late, o.due) + lease + maxLimit
	if o.Proto.Traits().Queues {
		o.end += placeLife
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count >= maxOrphans {
		s.cfg.Warn("too many releases are pending: this lock stays taken in Redis until its lease ends",
			"lock", o.Proto.Name())
		return o.end
	}
	r.addLocked(node, o)
	return o.end
}

func (r *reclaimer) addLocked(node string, o orphan) {
	r.count++
	c := r.nodes[node]
	if c != nil {
		c.orphans, c.since = append(c.orphans, o), min(c.since, o.since)
		select {
		case c.nudge <- struct{}{}:
		default:
		}
		return
	}
	if r.nodes == nil {
		r.nodes = make(map[string]*chore)
	}
	c = &chore{orphans: []orphan{o}, since: o.since, most: Batch, pause: FirstPause, nudge: make(chan struct{}, 1)}
	r.nodes[node] = c
	r.sender.Spawn(func() { r.run(node, c) }) // refused when Close is at work, which then takes the rest
}

// run works until nothing is left to reclaim on a node, or the engine closes.
//
// Who works on a node's orphans: the goroutine that addLocked starts with the first of them, and no other, since the
// chore is in the map for as long as that goroutine runs. It takes the chore out in the same critical section in
// which it finds nothing left (take). So an orphan that is added meanwhile either is seen by that look, or finds no
// chore and starts a goroutine of its own: none is left lying.
func (r *reclaimer) run(node string, c *chore) {
	for {
		due, wait, ok := r.take(node, c)
		if !ok {
			return
		}
		if len(due) > 0 {
			left, answered := r.sender.reclaimAll(due)
			r.put(node, c, left, answered)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.nudge:
		case <-r.sender.closing:
		}
		timer.Stop()
	}
}

// take returns what is due, or how long nothing is. It reports false, for the last time, when the
// goroutine is to end.
func (r *reclaimer) take(node string, c *chore) (due []orphan, wait time.Duration, ok bool) {
	now := r.sender.cfg.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sender.Closed() {
		return nil, 0, false
	}
	wait = LastPause
	if now < c.due {
		wait = min(wait, c.due-now)
	}
	rest := c.orphans[:0]
	for _, o := range c.orphans {
		switch {
		case now >= o.end:
		case now >= c.due && now >= o.due && len(due) < c.most:
			due = append(due, o)
		default:
			rest = append(rest, o)
			if now >= c.due {
				wait = min(wait, max(o.due-now, 0))
			}
		}
	}
	clear(c.orphans[len(rest):])
	r.count -= len(c.orphans) - len(rest)
	c.orphans, c.asked = rest, due
	if len(due) == 0 && len(rest) == 0 {
		delete(r.nodes, node)
		return nil, 0, false
	}
	return due, wait, true
}

// put takes back what has to be looked at again, some of which another node may serve by now. If nothing of
// the batch was answered, the node is down, and is left alone for a while; or the path is one that breaks now
// and then, and a pipeline that breaks anywhere fails whole: smaller ones get through.
//
// While a batch is under way its orphans are in asked alone. Close takes those too and sends their releases again: it
// need not wait for a batch that hangs. What the batch puts back in the end is taken when all calls have been joined.
func (r *reclaimer) put(node string, c *chore, left []orphan, answered bool) {
	nodes := make([]string, len(left))
	for i, o := range left {
		nodes[i] = r.sender.cfg.Store.Node(o.Proto.Key())
	}
	now := r.sender.cfg.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c.asked = nil
	if answered {
		c.due, c.pause, c.most, c.since = 0, FirstPause, min(2*c.most, Batch), now
	} else {
		c.due, c.pause, c.most = now+c.pause, min(2*c.pause, LastPause), max(c.most/2, 1)
	}
	for i, o := range left {
		if nodes[i] != node {
			o.since = now
			r.addLocked(nodes[i], o)
			continue
		}
		c.orphans = append(c.orphans, o)
		r.count++
	}
}

// rest empties the lists, for Close. What is known of the nodes stays.
func (r *reclaimer) rest() (left []Orphan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.nodes {
		for _, o := range slices.Concat(c.orphans, c.asked) {
			left = append(left, o.Orphan)
		}
		c.orphans, c.asked = nil, nil
	}
	r.count = 0
	return left
}

// until is how long Close asks a node, until end at most, which is the release timeout after Close began.
//
// A process that shuts down unlocks what it holds, and closes its client. If Redis does not answer, the unlock takes
// the release timeout, and a Close that waited for as long once more would take the process beyond the one timeout
// that it was given time for. So the time of Close counts from the first release that the node has not answered. A
// quarter of the timeout is left in any case, since the node may be back; if it answers in that, it has the rest.
func (r *reclaimer) until(node string, end time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.untilLocked(r.nodes[node], end)
}

func (r *reclaimer) untilLocked(c *chore, end time.Duration) time.Duration {
	if c == nil {
		return end
	}
	patience := r.sender.cfg.ReleaseTimeout
	return min(end, max(c.since+patience, end-patience*3/4))
}

// soonest is until for the node that is given up first.
func (r *reclaimer) soonest(end time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := end
	for _, c := range r.nodes {
		first = min(first, r.untilLocked(c, end))
	}
	return first
}

// answered notes that a node has answered Close.
func (r *reclaimer) answered(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.nodes[node]; c != nil {
		c.since = r.sender.cfg.Clock.Now()
	}
}

// reclaimAll releases a batch and returns those that have to be looked at again. It reports whether the server
// had anything to say about one of them.
func (s *Sender) reclaimAll(due []orphan) (left []orphan, answered bool) {
	all := make([]*store.Parting, len(due))
	for i, o := range due {
		all[i] = &store.Parting{Proto: o.Proto, ID: o.ID, WantNow: true}
	}
	sent, era := s.cfg.Clock.Now(), s.recent.era()
	lost := Exchange(crash.Reclaim, func() error {
		s.cfg.Store.ReleaseEach(s.Within(context.Background(), s.Limit(s.cfg.Lease)), all)
		return nil
	})
	now := s.cfg.Clock.Now()
	for i, o := range due {
		reply, err := all[i].Reply, cmp.Or(lost, all[i].Err)
		s.Noted(Event{Of: o.Proto, Node: s.cfg.Store.Node(o.Proto.Key()), Sent: sent, Err: err})
		kind := store.FaultOf(err)
		answered = answered || kind == store.FaultNone || kind == store.FaultConflict || kind == store.FaultDefinite
		if kind == store.FaultNone {
			s.clocks.Observe(s.cfg.Store.Node(o.Proto.Key()), sent, now, reply.Now)
			if !o.again {
				s.recent.add(era, o.Proto, o.ID)
			}
		}
		switch {
		case kind == store.FaultNone && reply.Now > o.NotAfter, kind == store.FaultConflict, now >= o.end:
			continue
		case kind == store.FaultNone:
			o.due = s.Local(o.Proto.Key(), o.NotAfter) + time.Millisecond
			o.due = max(o.due, now+time.Millisecond)
		default:
			o.due, o.pause = now+o.pause, min(2*o.pause, LastPause)
		}
		left = append(left, o)
	}
	return left, answered
}
