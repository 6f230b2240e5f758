package request

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	// maxOwed bounds what is to be released. Whatever is forgotten ends with its lease; what no lease ends is not
	// forgotten.
	maxOwed = 1 << 16
	// placeLife is for how long a place in the store's queue is released in vain. It has no lease: it stands while its
	// client is heard of, and without that as long as the queue is kept.
	placeLife = 15 * time.Minute

	never = time.Duration(math.MaxInt64)
)

// ledger has every id that may still act in the store though nobody wants it: holds of which no context says any more
// that they are held, but that may stand in the store, or come to stand there when a request that was given up is read
// late; and holds whose end was confirmed lately, by a primary that may have been replaced since.
//
// What is owed is released until the store says that nothing can be left. Without an answer that ends when no copy can
// come and the hold's own lease has passed; where waiters have places in the store, much later; and never where what
// stands has no lease of its own.
//
// Each node has its own goroutine while something is owed on it, so that a node that hangs delays no other. While a
// node does not answer it is probed, by one batch at a time and ever more rarely, however many ids wait for it: each
// try may cost a dial.
type ledger struct {
	sender *Sender

	mu    sync.Mutex // guards all below, and what they point to
	nodes map[string]*owed
	count int // ids that are owed on all nodes, without those that are being released

	ended    []end // lately, in the order of time, from first on; see confirm
	first    int
	replaced int // how many times a primary was
}

// owed is what there is to release on one node.
type owed struct {
	ids   []entry
	asked []entry       // those that are being released, and so are not in ids
	since time.Duration // when a request was first sent that the node has not answered; see until
	most  int           // how many go into one pipeline: fewer after one that broke
	due   time.Duration // the node is left alone until then, since it does not answer
	pause time.Duration // and for how long after the next failure
	nudge chan struct{}
}

// entry is one id that is owed.
type entry struct {
	Disowned
	since    time.Duration // when a request for it was first sent that was not answered
	from     time.Duration // it must not be released before that
	due, end time.Duration // when to try next, and when nothing can be left
	pause    time.Duration
	again    bool // it was released before, and its end is not to be remembered once more
}

// Disowned is an id that may still act though nobody wants it.
type Disowned struct {
	Proto  store.Protocol
	ID     string
	Lease  time.Duration // for how long the store keeps it at most
	Late   store.Late    // until when a request for it may be carried out
	Wait   time.Duration // how long it must not be released yet: the work of a lost hold stops in that time
	Vain   time.Duration // how long a release would only have to be repeated
	Silent time.Duration // for how long a request for it has had no answer
	Tried  chan struct{} // has room for one, sent when a release was answered, or failed; nil: nobody waits for that
}

// Disown releases an id, and does not wait for that. It returns until when it goes on without an answer: by then the
// lease has ended. Where what stands lasts as long as its client it goes on for ever, and returns 0.
//
// A release is safe to send at any time, for any id, as often as wanted: it removes the field of that id and nothing
// else, and an id is never used for a second hold. So the ledger does not have to know whether the request that it
// cleans up after was carried out, or whether somebody else released the id.
func (s *Sender) Disown(d Disowned) (until time.Duration) {
	if until = s.ledger.add(entry{Disowned: d}); until == never {
		return 0
	}
	return until
}

// Owed is how many releases have not been confirmed that nobody waits for.
func (s *Sender) Owed() int {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	n := s.ledger.count
	for _, o := range s.ledger.nodes {
		n += len(o.asked)
	}
	return n
}

func (l *ledger) add(one entry) (until time.Duration) {
	s := l.sender
	node, now := s.cfg.Store.Node(one.Proto.Key()), s.cfg.Clock.Now()
	one.from = now + max(one.Wait, 0)
	one.due, one.pause = max(one.from, now+one.Vain), FirstPause
	one.since = one.due - one.Silent
	one.end = one.due + one.Lease + maxLimit
	if one.Late > 0 {
		one.end = max(one.end, now+s.cfg.Store.Late(one.Proto.Key(), one.Late)+one.Lease+maxLimit)
	}
	switch traits := one.Proto.Traits(); {
	case traits.Lasts:
		one.end = never
	case traits.Queues:
		one.end += placeLife
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= maxOwed && one.end != never {
		s.cfg.Warn("too many releases are pending: this lock stays taken until its lease ends",
			"lock", one.Proto.Name())
		return one.end
	}
	l.addLocked(node, one)
	return one.end
}

func (l *ledger) addLocked(node string, one entry) {
	l.count++
	o := l.nodes[node]
	if o != nil {
		o.ids, o.since = append(o.ids, one), min(o.since, one.since)
		select {
		case o.nudge <- struct{}{}:
		default:
		}
		return
	}
	if l.nodes == nil {
		l.nodes = make(map[string]*owed)
	}
	o = &owed{ids: []entry{one}, since: one.since, most: Batch, pause: FirstPause, nudge: make(chan struct{}, 1)}
	l.nodes[node] = o
	l.sender.Spawn(func() { l.run(node, o) }) // refused when Close is at work, which then takes the rest
}

// run works until nothing is owed on a node, or the engine closes.
//
// Who works on what is owed on a node: the goroutine that addLocked starts with the first id, and no other, since the
// node is in the map for as long as that goroutine runs. It takes the node out in the same critical section in which it
// finds nothing left (take). So an id that is added meanwhile either is seen by that look, or finds no node and starts
// a goroutine of its own: none is left lying.
func (l *ledger) run(node string, o *owed) {
	for {
		due, wait, ok := l.take(node, o)
		if !ok {
			return
		}
		if len(due) > 0 {
			left, answered := l.sender.releaseOwed(due)
			l.put(node, o, left, answered)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-o.nudge:
		case <-l.sender.closing:
		}
		timer.Stop()
	}
}

// take returns what is due, or how long nothing is. It reports false, for the last time, when the
// goroutine is to end.
func (l *ledger) take(node string, o *owed) (due []entry, wait time.Duration, ok bool) {
	now := l.sender.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sender.Closed() {
		return nil, 0, false
	}
	wait = LastPause
	if now < o.due {
		wait = min(wait, o.due-now)
	}
	rest := o.ids[:0]
	for _, one := range o.ids {
		switch {
		case now >= one.end:
		case now >= o.due && now >= one.due && len(due) < o.most:
			due = append(due, one)
		default:
			rest = append(rest, one)
			if now >= o.due {
				wait = min(wait, max(one.due-now, 0))
			}
		}
	}
	clear(o.ids[len(rest):])
	l.count -= len(o.ids) - len(rest)
	o.ids, o.asked = rest, due
	if len(due) == 0 && len(rest) == 0 {
		delete(l.nodes, node)
		return nil, 0, false
	}
	return due, wait, true
}

// put takes back what has to be looked at again, some of which another node may serve by now. If nothing of
// the batch was answered, the node is down, and is left alone for a while; or the path is one that breaks now
// and then, and a pipeline that breaks anywhere fails whole: smaller ones get through.
//
// While a batch is under way its ids are in asked alone. Close takes those too and sends their releases again: it
// need not wait for a batch that hangs. What the batch puts back in the end is taken when all calls have been joined.
func (l *ledger) put(node string, o *owed, left []entry, answered bool) {
	nodes := make([]string, len(left))
	for i, one := range left {
		nodes[i] = l.sender.cfg.Store.Node(one.Proto.Key())
	}
	now := l.sender.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	o.asked = nil
	if answered {
		o.due, o.pause, o.most, o.since = 0, FirstPause, min(2*o.most, Batch), now
	} else {
		o.due, o.pause, o.most = now+o.pause, min(2*o.pause, LastPause), max(o.most/2, 1)
	}
	for i, one := range left {
		if nodes[i] != node {
			one.since = now
			l.addLocked(nodes[i], one)
			continue
		}
		o.ids = append(o.ids, one)
		l.count++
	}
}

// rest empties the lists, for Close. What is known of the nodes stays.
func (l *ledger) rest() (left []Disowned) {
	now := l.sender.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.nodes {
		for _, one := range slices.Concat(o.ids, o.asked) {
			one.Wait = max(one.from-now, 0)
			left = append(left, one.Disowned)
		}
		o.ids, o.asked = nil, nil
	}
	l.count = 0
	return left
}

// until is how long Close asks a node, until end at most, which is the release timeout after Close began.
//
// A process that shuts down unlocks what it holds, and closes its client. If the store does not answer, the unlock
// takes the release timeout, and a Close that waited for as long once more would take the process beyond the one
// timeout that it was given time for. So the time of Close counts from the first release that the node has not
// answered. A quarter of the timeout is left in any case, since the node may be back; if it answers in that, it has the
// rest.
func (l *ledger) until(node string, end time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.untilLocked(l.nodes[node], end)
}

func (l *ledger) untilLocked(o *owed, end time.Duration) time.Duration {
	if o == nil {
		return end
	}
	patience := l.sender.cfg.ReleaseTimeout
	return min(end, max(o.since+patience, end-patience*3/4))
}

// soonest is until for the node that is given up first.
func (l *ledger) soonest(end time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := end
	for _, o := range l.nodes {
		first = min(first, l.untilLocked(o, end))
	}
	return first
}

// answered notes that a node has answered Close.
func (l *ledger) answered(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.nodes[node]; o != nil {
		o.since = l.sender.cfg.Clock.Now()
	}
}

// releaseOwed releases a batch and returns those that have to be looked at again. It reports whether the server had
// anything to say about one of them.
func (s *Sender) releaseOwed(due []entry) (left []entry, answered bool) {
	all := make([]*store.Parting, len(due))
	for i, o := range due {
		all[i] = &store.Parting{Proto: o.Proto, ID: o.ID, Late: o.Late}
	}
	sent, era := s.cfg.Clock.Now(), s.ledger.era()
	lost := Exchange(crash.Disowned, func() error {
		s.cfg.Store.ReleaseEach(s.Within(context.Background(), s.Limit(s.cfg.Lease)), all)
		return nil
	})
	now := s.cfg.Clock.Now()
	for i, o := range due {
		select {
		case o.Tried <- struct{}{}:
		default:
		}
		err := cmp.Or(lost, all[i].Err)
		if !all[i].Unasked || lost != nil {
			s.Noted(Event{Of: o.Proto, Node: s.cfg.Store.Node(o.Proto.Key()), Sent: sent, Err: err})
		}
		kind := store.FaultOf(err)
		answered = answered || kind == store.FaultNone || kind == store.FaultConflict || kind == store.FaultDefinite
		if kind == store.FaultNone && !o.again {
			s.ledger.confirm(era, o.Proto, o.ID)
		}
		switch {
		case kind == store.FaultNone && all[i].Again == 0, kind == store.FaultConflict, now >= o.end:
			continue
		case kind == store.FaultNone:
			o.due = now + all[i].Again
		default:
			o.due, o.pause = now+o.pause, min(2*o.pause, LastPause)
		}
		left = append(left, o)
	}
	return left, answered
}

const (
	// endedFor is how long an end is remembered: longer than a primary goes on answering that was deposed.
	endedFor = 10 * time.Second
	// maxEnded bounds how many are.
	maxEnded = 1 << 15
)

// end is the end of a hold that was confirmed. A primary that was replaced may have confirmed it alone: then the hold
// stands on the new primary, though nobody has it, until its lease is over. So the ends of some seconds are remembered,
// and released once more there. A release names the hold's id, which is never used again: it cannot touch another hold.
type end struct {
	proto store.Protocol
	id    string
	at    time.Duration
}

// era is when a release is begun. It is handed to confirm when it was answered.
//
// Two primaries may answer for one key in the same second: the deposed one, which does not know yet that it is, and the
// new one. A release that the deposed one confirms is forgotten with it. The era counts the replacements that this
// client has noticed. A release whose era is still the same when its answer has come was noted before the next
// replacement was noticed, and will be in the list that Replaced repeats. One whose era is another was under way
// across it: nobody can tell which primary answered, so it is repeated at once.
func (l *ledger) era() int {
	if !l.sender.cfg.Store.Replaceable() {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replaced
}

// confirm takes note of the end of a hold that was confirmed. If a primary was replaced since it was asked for, it is
// not known which one confirmed it.
func (l *ledger) confirm(era int, p store.Protocol, id string) {
	if !l.sender.cfg.Store.Replaceable() {
		return
	}
	one := end{p, id, l.sender.cfg.Clock.Now()}
	l.mu.Lock()
	l.ended = append(l.ended, one)
	l.forgetLocked(one.at)
	late := era != l.replaced
	l.mu.Unlock()
	if late {
		l.again(one)
	}
}

// again releases an id whose end was confirmed, perhaps where that counts for nothing any more.
func (l *ledger) again(one end) {
	l.add(entry{Disowned: Disowned{Proto: one.proto, ID: one.id, Lease: l.sender.cfg.Lease}, again: true})
}

// forgetLocked drops the ends that are too old, or too many.
//
// The list is a slice that is used as a queue: what is forgotten is cleared at once, so that its protocol is not kept
// alive, and the room is used again when half of the slice has been forgotten.
func (l *ledger) forgetLocked(now time.Duration) {
	for l.first < len(l.ended) && (now-l.ended[l.first].at > endedFor || len(l.ended)-l.first > maxEnded) {
		l.ended[l.first] = end{}
		l.first++
	}
	if 2*l.first >= len(l.ended) {
		left := copy(l.ended, l.ended[l.first:])
		clear(l.ended[left:])
		l.ended, l.first = l.ended[:left], 0
	}
}

// replace counts a replacement, and returns the ends that are remembered. Those that come from now on were asked of
// another primary, or see that they were not.
func (l *ledger) replace() []end {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaced++
	l.forgetLocked(l.sender.cfg.Clock.Now())
	return slices.Clone(l.ended[l.first:])
}

// Replaced is called when a primary has been replaced by another one, which may not have heard of the last releases:
// they are released again.
func (s *Sender) Replaced() {
	for _, one := range s.ledger.replace() {
		s.ledger.again(one)
	}
}
