package request

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

const (
	maxLimit = 3 * time.Second // of one command, however long the lease

	// Batch is how many holds go into one pipeline.
	Batch = 256
)

// Config is what a Sender is made of. All fields but Server are set.
type Config struct {
	Store store.Store
	Clock *watchdog.Clock
	Wheel *watchdog.Wheel
	Lease time.Duration // the client's

	Confirmed bool // the store waits until what it wrote is confirmed

	ReleaseTimeout time.Duration // of the client: how long a caller of unlock waits for a node, and Close

	Warn, Info func(text string, args ...any)
	Holds      func(node string) int // how many holds of the client a node has
	Server     string                // what operators call the store's only node; "" if it has several
}

// Sender sends the requests of one client, and cleans up after those of which the outcome is unknown. All its methods
// are safe for concurrent use.
type Sender struct {
	cfg     Config
	ledger  ledger
	outages outages
	workers workers

	// All that has to end when the client closes.
	closing chan struct{} // closed when Close begins
	calls   calls
}

// New returns a Sender. It sends nothing.
func New(cfg Config) *Sender {
	s := &Sender{
		cfg: cfg, closing: make(chan struct{}), calls: calls{over: make(chan struct{})},
		workers: workers{next: make(chan func())},
	}
	s.ledger.sender = s
	s.outages.cfg = &s.cfg
	return s
}

// CommandLimit is how long one command may take under a lease: a fraction of it, so that several attempts fit into the
// time that a renewal has.
func CommandLimit(lease time.Duration) time.Duration { return min(lease/6, maxLimit) }

// Limit is how long one command may take for a hold with a lease. A short lease shortens it, so that no hold is
// granted that is as good as over. A long one does not lengthen it beyond the client's own: the limit is also how
// late a request that was given up can still be carried out.
func (s *Sender) Limit(lease time.Duration) time.Duration {
	return min(CommandLimit(lease), CommandLimit(s.cfg.Lease))
}

// Within is a context for one request, with the time limit of one command.
func (s *Sender) Within(ctx context.Context, limit time.Duration) context.Context {
	return s.cfg.Store.Within(ctx, limit)
}

// Sending is one request that must not be carried out late: the store is told when it is sent, before anything that may
// hold it up, and how late it may be carried out. A process that stops in between sends the request when its time is
// over, and the store does not carry it out.
//
// It goes from Start to End on one goroutine, which sends the request in between. A function that calls one which sends
// would be shorter, and both of them would be on the stack of every goroutine that waits for an answer.
type Sending struct {
	store.Timing // of the request

	sender *Sender
	of     store.Rules
	node   string
	reply  crash.Point // "": nothing was sent
	heard  func() bool // ends what would note that nothing was ever heard of the node; nil: something was
}

// Start begins a sending. With an error nothing may be sent, and the sending ends with that.
func (s *Sender) Start(x crash.Exchange, of store.Rules, limit time.Duration) (Sending, error) {
	g := Sending{
		Timing: store.Timing{Sent: s.cfg.Clock.Now(), Within: limit},
		sender: s, of: of, node: s.cfg.Store.Node(of.Key()),
	}
	if !s.outages.knows(g.node) {
		g.heard = s.expect(Event{Of: of, Node: g.node, Sent: g.Sent})
	}
	if err := crash.At(x.Send); err != nil {
		return g, err
	}
	g.reply = x.Reply
	return g, nil
}

// End ends a sending with what the store returned, and returns that. Without a receipt of the store's, the receipt has
// the time of sending alone.
func (g *Sending) End(ctx context.Context, receipt store.Receipt, err error) (store.Receipt, error) {
	if g.reply != "" {
		if lost := crash.At(g.reply); lost != nil {
			err = lost
		}
	}
	if g.heard != nil {
		g.heard()
	}
	if receipt == (store.Receipt{}) {
		receipt.Since = g.Sent
	}
	if err == nil || ctx.Err() == nil { // a caller that leaves says nothing about the node
		g.sender.Noted(Event{Of: g.of, Node: g.node, Sent: receipt.Since, Err: err})
	}
	return receipt, err
}

// Exchange sends one request by way of the crash points before and after it.
func Exchange(x crash.Exchange, send func() error) error {
	if err := crash.At(x.Send); err != nil {
		return err
	}
	err := send()
	if lost := crash.At(x.Reply); lost != nil {
		return lost
	}
	return err
}

// calls counts what Close joins: calls of the API, and goroutines that wait for a reply or clean up. One word has the
// number and whether Close was called: every call of a client, on whatever name, changes it, and no mutex makes them
// wait for one another. Once it is closed the number only falls, but for what a call that is still counted starts
// (follow); so it comes to zero once.
type calls struct {
	over chan struct{} // closed when Close was called and the last one has ended
	_    [64]byte      // to read what stands before it does not wait for the word, which every call changes
	word atomic.Int64
}

const (
	closed  = 1
	oneCall = 2
)

// begin counts one, unless closed.
func (c *calls) begin() bool {
	for {
		word := c.word.Load()
		if word&closed != 0 {
			return false
		}
		if c.word.CompareAndSwap(word, word+oneCall) {
			return true
		}
	}
}

func (c *calls) done() {
	if c.word.Add(-oneCall) == closed {
		close(c.over)
	}
}

// close lets no more begin. It reports false if that was done before.
func (c *calls) close() bool {
	word := c.word.Or(closed)
	if word == 0 {
		close(c.over)
	}
	return word&closed == 0
}

// Begin registers a call that Close is to join, and that ends with Done. It reports false on a closed Sender.
//
// Every call of the API is registered here, and so is every goroutine that waits for a reply or cleans up.
func (s *Sender) Begin() bool { return s.calls.begin() }

// Done ends a call that Begin registered. A call that starts a goroutine with follow ends after it has done so.
func (s *Sender) Done() { s.calls.done() }

// Spawn runs fn in a goroutine that is joined; on a closed Sender it does not run at all.
func (s *Sender) Spawn(fn func()) bool {
	if !s.Begin() {
		return false
	}
	go func() {
		defer s.Done()
		fn()
	}()
	return true
}

// follow runs fn in a goroutine that is joined. The caller is a call that is joined itself.
func (s *Sender) follow(fn func()) {
	s.calls.word.Add(oneCall)
	go func() {
		defer s.Done()
		fn()
	}()
}

// Close refuses new calls, and ends the waits of those under way. It reports false if that was done before.
func (s *Sender) Close() bool {
	if !s.calls.close() {
		return false
	}
	close(s.closing)
	return true
}

// Closing is closed when Close begins.
func (s *Sender) Closing() <-chan struct{} { return s.closing }

// Closed reports whether Close was called.
func (s *Sender) Closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Wait joins the calls under way, once Close was called.
func (s *Sender) Wait() { <-s.calls.over }

// WaitUntil joins the calls under way, until end, or until a node is given up that is known not to answer: a call that
// waits for that one ends when its connection does.
func (s *Sender) WaitUntil(end time.Duration) {
	timer := time.NewTimer(max(s.ledger.soonest(end)-s.cfg.Clock.Now(), 0))
	defer timer.Stop()
	select {
	case <-s.calls.over:
	case <-timer.C:
	}
}

// The pauses between attempts that got no answer, which double from the first to the last.
const (
	FirstPause = 10 * time.Millisecond
	LastPause  = 500 * time.Millisecond
)

// Next is what follows an attempt.
type Next int8

// What can follow an attempt. A refusal that will not change (no permission, a key of another type) is given up at
// once: it would be the same at the end, and the caller learns of it now.
const (
	Settled Next = iota // nothing: its outcome is known
	Later               // another one, after a pause
	GiveUp              // nothing: another one would have the same answer
)

// Retry makes attempts until one is settled. It reports false if one gave up, if the next would come after end, or if
// ctx or the Sender ended first: then what the attempts may have done is the caller's to clean up.
//
// There is no bound on the number of attempts but end: a server that restarts for ten seconds answers the one that
// comes then. Pauses double so that many clients do not keep a server busy that is trying to come up, and stop
// doubling at half a second so that none of them is noticed by a waiter.
//
// The same request is sent again, under the same id, so an attempt whose reply was lost and that was carried out is
// answered "already": no attempt has to know what became of the one before.
func (s *Sender) Retry(ctx context.Context, end time.Duration, attempt func() Next) bool {
	for pause := FirstPause; ; {
		switch attempt() {
		case Settled:
			return true
		case GiveUp:
			return false
		}
		if s.cfg.Clock.Now()+pause >= end || !s.Pause(ctx, pause) {
			return false
		}
		pause = min(2*pause, LastPause)
	}
}

// Pause sleeps for d; it reports false if ctx or the Sender ended first.
func (s *Sender) Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

// Release releases a hold once, within the time limit of a command, and not after end.
//
// The bound of a release is absolute: end, and not a time for each step on the way. A connection that has to be made,
// with its TLS handshake and its greeting, uses up the same time as the command. An unlock that is promised to return
// after five seconds does so although the server was replaced meanwhile and every attempt has to dial.
func (s *Sender) Release(
	ctx context.Context, p store.Protocol, id string, end time.Duration,
) (reply store.ReleaseReply, err error) {
	era, sent := s.ledger.era(), s.cfg.Clock.Now()
	ctx = s.cfg.Store.WithinAll(ctx, s.Limit(s.cfg.Lease), end-s.cfg.Clock.Now())
	err = Exchange(crash.Release, func() (err error) {
		reply, err = p.Release(ctx, id)
		return err
	})
	s.Noted(Event{Of: p, Node: s.cfg.Store.Node(p.Key()), Sent: sent, Err: err})
	if err == nil {
		s.ledger.confirm(era, p, id)
	}
	return reply, err
}

// Era is taken before a request is sent that ends holds, and handed to Ended after.
func (s *Sender) Era() int { return s.ledger.era() }

// Ended notes that a hold's end was confirmed: a primary that is replaced afterwards may have confirmed it alone.
func (s *Sender) Ended(era int, p store.Protocol, id string) { s.ledger.confirm(era, p, id) }

// ReleaseAll releases ids, and those that were owed when the Sender was closed, in batches, and again those that got no
// answer, until end. A node that is known not to answer is given up before. Each node is asked beside the others, so
// that a node that hangs costs the others nothing of their time.
//
// ReleaseAll is for Close, which nothing may outlast: no goroutine works on the ledger any more, and no caller is left
// to be told. What is left at end is freed by its lease.
func (s *Sender) ReleaseAll(ids []Disowned, end time.Duration) {
	at := make(map[string][]Disowned)
	for _, o := range append(ids, s.ledger.rest()...) {
		node := s.cfg.Store.Node(o.Proto.Key())
		at[node] = append(at[node], o)
	}
	var all sync.WaitGroup
	for node, some := range at {
		all.Go(func() { s.releaseAt(node, some, end) })
	}
	all.Wait()
}

// releaseAt is ReleaseAll for one node. What must not be released yet is waited for, if that is over in time; otherwise
// its lease ends it.
func (s *Sender) releaseAt(node string, ids []Disowned, end time.Duration) {
	began := s.cfg.Clock.Now()
	for pause := FirstPause; ; {
		gone := s.cfg.Clock.Now() - began
		ripe := make([]Disowned, 0, len(ids))
		ids = slices.DeleteFunc(ids, func(o Disowned) bool {
			if o.Wait <= gone {
				ripe = append(ripe, o)
			}
			return o.Wait <= gone
		})
		wait := never
		for _, o := range ids {
			wait = min(wait, o.Wait-gone)
		}
		if silent := s.releaseOnce(node, ripe, end); len(silent) > 0 {
			ids = append(ids, silent...)
			wait, pause = min(wait, pause), min(2*pause, LastPause)
		}
		if len(ids) == 0 || wait >= s.ledger.until(node, end)-s.cfg.Clock.Now() {
			return
		}
		<-time.After(wait) // bounded by end; there is nothing else to wait for
	}
}

// releaseOnce sends one release for each and returns those that got no answer.
func (s *Sender) releaseOnce(node string, ids []Disowned, end time.Duration) (silent []Disowned) {
	for len(ids) > 0 {
		batch := ids[:min(len(ids), Batch)]
		ids = ids[len(batch):]
		left := s.ledger.until(node, end) - s.cfg.Clock.Now()
		if left <= 0 {
			return nil
		}
		all := make([]*store.Parting, len(batch))
		for i, o := range batch {
			all[i] = &store.Parting{Proto: o.Proto, ID: o.ID, Late: o.Late}
		}
		s.sendReleases(all, min(left, s.Limit(s.cfg.Lease)))
		before := len(silent)
		for i, o := range batch {
			if kind := store.FaultOf(all[i].Err); kind == store.FaultAmbiguous || kind == store.FaultTransient {
				silent = append(silent, o)
			}
		}
		if len(silent)-before < len(batch) {
			s.ledger.answered(node)
		}
	}
	return silent
}

// sendReleases sends releases that nothing may hold up for longer than limit, be it the wait for a connection:
// so the context has a timer.
//
// The sender of another request returns at its limit, wherever the request stands by then. A batch is sent by Close
// itself, over connections that others may keep busy.
func (s *Sender) sendReleases(all []*store.Parting, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.cfg.Store.ReleaseEach(ctx, all)
}
