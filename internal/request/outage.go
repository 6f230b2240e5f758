package request

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

var errNothingYet = errors.New("no answer yet")

// logAfter is how long a node has not answered when the log says so: before a hold can be lost. Less is no outage: a
// connection that breaks costs an attempt or two, and one that was forgotten on the way half of a command's time. A
// request that replicas or disks confirm may take all of its time.
func (c *Config) logAfter() time.Duration {
	after := max(min(time.Second, c.Lease/3), CommandLimit(c.Lease)*3/4)
	if c.Confirmed {
		after = max(after, CommandLimit(c.Lease))
	}
	return after
}

// outages are the nodes that do not answer, and those that answer but refuse to renew. The log has a line when one of
// these begins, and one when it ends: for a client and a node, and not for each of a thousand holds and callers, each
// of which fails several times a second.
//
// Any answer of a node ends its outage, an error that the server sends included, unless that says that the server
// cannot serve anything now. What a server refuses is told to the caller; only of renewals is there no caller.
//
// Nodes of a cluster come back under other addresses, and nothing is noted of one that serves nothing any more. What
// was noted before goes when another node is new, and the log says so of an outage that it has.
type outages struct {
	cfg   *Config
	open  atomic.Int32 // the length of all: what is answered looks there only if there is anything
	nodes sync.Map     // by name, those that have answered: an *atomic.Int64, when they last did

	mu  sync.Mutex // guards all below
	all map[subject]*outage
}

// subject is what is out of order.
type subject struct {
	node     string
	renewals bool // the node answers, but not to renewals, or refuses them
}

type outage struct {
	since  time.Duration // since then there was no answer, or no renewal
	last   time.Duration // when that was seen last
	logged bool
}

// Event is one request, for those who judge from many of them whether a node answers.
type Event struct {
	Of   store.Rules // of the lock that it was for, or of one of them
	Node string
	Sent time.Duration
	Err  error
}

// Noted notes what became of a request.
func (s *Sender) Noted(ev Event) {
	switch {
	case answers(ev.Err):
		now := s.cfg.Clock.Now()
		s.outages.noteAnswer(ev.Node, now)
		s.outages.end(subject{node: ev.Node}, now)
	case silent(ev.Err):
		s.outages.begin(s, ev)
	}
}

// Renewed notes what became of a batch of renewals of a node, of which so many were confirmed and so many failed; the
// event is one of those that failed, if one did.
//
// If the node does not answer at all, that is what is told. If it answers others, holds are about to be lost although
// callers notice nothing, and that is told at once. One hold of a batch may fail again and again while others are
// renewed, so the end is told when none has failed for as long as a hold waits for its renewal.
func (s *Sender) Renewed(ev Event, confirmed, failed int) {
	now, what := s.cfg.Clock.Now(), subject{ev.Node, true}
	if failed == 0 {
		s.Noted(Event{Of: ev.Of, Node: ev.Node, Sent: ev.Sent})
		s.outages.end(what, now-s.cfg.Lease/3)
		return
	}
	if confirmed > 0 || store.Locked(ev.Err) {
		s.outages.end(subject{node: ev.Node}, now)
	}
	if silent(ev.Err) && confirmed == 0 && s.outages.begin(s, ev) {
		return
	}
	passes := silent(ev.Err) || store.Locked(ev.Err) // others lock a row for a moment
	if !s.outages.note(what, ev.Sent, now, !passes) {
		return
	}
	s.warn("renewals fail, and are repeated until the leases end", ev, "holds", failed)
}

// knows reports that a node has answered.
func (o *outages) knows(node string) bool {
	_, ok := o.nodes.Load(node)
	return ok
}

// answeredAt is when a node last answered; 0 if it never did.
func (o *outages) answeredAt(node string) time.Duration {
	if at, ok := o.nodes.Load(node); ok {
		return time.Duration(at.(*atomic.Int64).Load())
	}
	return 0
}

// noteAnswer notes that a node answers. Of two goroutines that note it at a time either may be the last.
func (o *outages) noteAnswer(node string, now time.Duration) {
	at, ok := o.nodes.Load(node)
	if !ok {
		if !o.cfg.Store.Serves(node) {
			return
		}
		o.forget()
		at, _ = o.nodes.LoadOrStore(node, new(atomic.Int64))
	}
	at.(*atomic.Int64).Store(int64(now))
}

// forget forgets the nodes that serve nothing any more. One without a name stood for a cluster that was not known yet.
func (o *outages) forget() {
	o.nodes.Range(func(node, _ any) bool {
		if !o.cfg.Store.Serves(node.(string)) {
			o.nodes.Delete(node)
		}
		return true
	})
	over := make(map[subject]*outage)
	o.mu.Lock()
	for what, is := range o.all {
		if !o.cfg.Store.Serves(what.node) {
			over[what] = is
			delete(o.all, what)
			o.open.Add(-1)
		}
	}
	o.mu.Unlock()
	for what, is := range over {
		o.tell(what, is, what.node != "")
	}
}

// answers reports that an error, or none, is the answer of a node to a request.
func answers(err error) bool {
	if err == nil {
		return true
	}
	kind, known := store.FaultOf(err), (*store.Failure)(nil)
	var short *store.ShortfallError
	return kind == store.FaultConflict || store.Denied(err) || store.Locked(err) || errors.As(err, &short) ||
		kind == store.FaultDefinite && errors.As(err, &known) && known.Answered
}

// silent reports that a request which was sent, or for which there was no connection, was not served. A request that
// was not sent because its caller left says nothing about the node.
func silent(err error) bool {
	if answers(err) || errors.Is(err, store.ErrLate) || errors.Is(err, ErrAbandoned) {
		return false
	}
	var left *store.Left
	kind := store.FaultOf(err)
	return (kind == store.FaultAmbiguous || kind == store.FaultTransient) && !errors.As(err, &left)
}

// begin notes that a node did not answer. It reports whether the log has that, now or from before.
func (o *outages) begin(s *Sender, ev Event) (logged bool) {
	what, now := subject{node: ev.Node}, s.cfg.Clock.Now()
	if !o.note(what, max(ev.Sent, o.answeredAt(ev.Node)), now, false) {
		o.mu.Lock()
		defer o.mu.Unlock()
		is := o.all[what]
		return is != nil && is.logged
	}
	s.warn(s.cfg.Store.Name()+" is unavailable; calls wait for it, and holds last until their leases end", ev,
		"holds", s.cfg.Holds(ev.Node))
	return true
}

// note notes that something is out of order since an instant, and reports whether that is to be logged now.
func (o *outages) note(what subject, since, now time.Duration, atOnce bool) (log bool) {
	if !o.cfg.Store.Serves(what.node) {
		return false
	}
	if o.open.Load() > 0 {
		o.forget()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	is := o.all[what]
	if is == nil {
		if o.all == nil {
			o.all = make(map[subject]*outage)
		}
		is = &outage{since: since}
		o.all[what] = is
		o.open.Add(1)
	}
	is.last = now
	if is.logged || !atOnce && now-is.since < o.cfg.logAfter() {
		return false
	}
	is.logged = true
	return true
}

// end notes that something is in order, if it was not seen out of order after an instant.
func (o *outages) end(what subject, before time.Duration) {
	if o.open.Load() == 0 {
		return
	}
	o.mu.Lock()
	is := o.all[what]
	if is == nil || is.last > before {
		o.mu.Unlock()
		return
	}
	delete(o.all, what)
	o.open.Add(-1)
	o.mu.Unlock()
	o.tell(what, is, false)
}

// tell logs the end of an outage, if the log has its begin.
func (o *outages) tell(what subject, is *outage, replaced bool) {
	text := o.cfg.Store.Name() + " is available again"
	switch {
	case !is.logged:
		return
	case replaced:
		text = "the node was replaced"
	case what.renewals:
		text = "renewals succeed again"
	}
	o.cfg.Info(text, append(o.cfg.where(what.node), "after", o.cfg.Clock.Now()-is.since)...)
}

func (s *Sender) warn(text string, ev Event, args ...any) {
	if s.Closed() {
		return
	}
	all := append(s.cfg.where(ev.Node), "lock", ev.Of.Name())
	s.cfg.Warn(text, append(append(all, args...), "error", ev.Err)...)
}

// where names a node in the log.
func (c *Config) where(node string) []any {
	if c.Server != "" {
		node = c.Server
	}
	if node == "" {
		return nil
	}
	return []any{"node", node}
}

// expect notes that the first request to a node is under way, which may hang for several time limits: to dial, to greet
// and to ask. It returns what ends that.
func (s *Sender) expect(ev Event) (stop func() bool) {
	ev.Err = errNothingYet
	return time.AfterFunc(s.cfg.logAfter(), func() { s.outages.begin(s, ev) }).Stop
}
