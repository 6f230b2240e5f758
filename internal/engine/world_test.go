package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// played is one side of a lock in a search. Its requests that nobody waits for are answered by the world's store.
type played struct {
	side
	traits *store.Traits
	store  *stored
}

var (
	passes = &store.Traits{Passes: true}
	shares = &store.Traits{Shares: true}
)

func (p played) Traits() *store.Traits           { return p.traits }
func (p played) Channel() string                 { return "c" }
func (p played) Serving([]string) store.Protocol { return p }
func (p played) Release(_ context.Context, id string) (store.ReleaseReply, error) {
	return p.store.send(id)
}

// stored is what the store has of the name: the ids that hold it, and the requests that may still arrive.
type stored struct {
	mu      sync.Mutex        // releases come from goroutines of the engine as well
	stands  map[string]string // the modes of the ids
	copies  map[string]string // the same, of requests that nobody has an answer to and that were not carried out
	foreign bool              // another process has the lock
	fence   int64
	spare   int64 // tokens that an answer brings for later turns

	slow bool       // what the engine releases by itself is answered when the search says so
	sent []*sending // such releases
}

// free reports that a request of a mode is granted.
func (m *stored) free(mode string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.freeLocked(mode)
}

func (m *stored) freeLocked(mode string) bool {
	for _, other := range m.stands {
		if mode == "w" || other == "w" {
			return false
		}
	}
	return !m.foreign
}

// take carries a request out. The last of the tokens that it brings are for the next turns.
func (m *stored) take(id, mode string) store.AcquireReply {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.copies, id)
	if m.stands[id] != "" {
		return store.AcquireReply{Status: store.Already, Fence: m.fence}
	}
	if !m.freeLocked(mode) {
		return store.AcquireReply{Status: store.Busy, PTTL: time.Minute}
	}
	m.stands[id] = mode
	m.fence += 1 + m.spare
	return store.AcquireReply{Status: store.Held, Fence: m.fence, Spare: m.spare}
}

// release carries a release out.
func (m *stored) release(id string) store.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stands[id] == "" {
		return store.Gone
	}
	delete(m.stands, id)
	return store.Done
}

// settle releases an id until no request for it can arrive.
func (m *stored) settle(id string) {
	m.release(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.copies, id)
}

// playedStore is the store of a search's engine.
type playedStore struct {
	store.Store

	mu sync.Mutex // guards at
	at *stored    // of the world that is played
}

func (p *playedStore) play(at *stored) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = at
}

func (p *playedStore) Start(store.Host)                                                  {}
func (p *playedStore) Node(string) string                                                { return "n" }
func (p *playedStore) Serves(string) bool                                                { return true }
func (p *playedStore) Heard(string) store.Heard                                          { return store.Heard{} }
func (p *playedStore) Others(string, int64) int                                          { return 0 }
func (p *playedStore) Replaceable() bool                                                 { return false }
func (p *playedStore) Late(string, store.Late) time.Duration                             { return 0 }
func (p *playedStore) Slot(string) int                                                   { return 0 }
func (p *playedStore) End()                                                              {}
func (p *playedStore) HangUp()                                                           {}
func (p *playedStore) ListenWanted()                                                     {}
func (p *playedStore) Wait()                                                             {}
func (p *playedStore) Within(ctx context.Context, _ time.Duration) context.Context       { return ctx }
func (p *playedStore) WithinAll(ctx context.Context, _, _ time.Duration) context.Context { return ctx }

// ReleaseEach is what the ledger sends, and Close.
func (p *playedStore) ReleaseEach(_ context.Context, all []*store.Parting) {
	for _, one := range all {
		one.Proto.(played).store.settle(one.ID)
		one.Reply, one.Again = store.ReleaseReply{Status: store.Done}, 0
	}
}

func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func lostWord(_ store.Rules, reason hold.Reason, _ error) error {
	return fmt.Errorf("lost: %d", reason)
}

func releaseWord(store.Rules, time.Time, error) error { return errors.New("not known to be released") }

// phase is where a call is between two of its steps.
type phase uint8

const (
	absent    phase = iota // it has not come
	clearing               // it waits until an idle grant is released that is in its way
	entering               // it found no idle grant, and is about to enter the queue
	looking                // it is about to look at its state
	asleep                 // it saw that it has to wait
	flying                 // its request is under way
	answered               // it was carried out, and the answer is on its way
	listening              // the store told it to wait
	won                    // a Hold came to it, which has no context yet
	bringing               // it has its Hold, and others waited for the answer
	holding                // the Hold is its
	between                // its Hold is over, and the grant is to be passed on or released
	resting                // it may become idle
	passing                // it did not, and is to be passed on or released
	parting                // its release is under way
	parted                 // it was carried out, and the answer is on its way
	gone
)

// actor is one Lock call and its unlock.
type actor struct {
	breed  *breed
	phase  phase
	ctx    context.Context
	cancel context.CancelFunc
	req    *Request
	w      *waiter
	asked  flight // its request
	hold   *hold.Hold
	level  *hold.Level
	coming
	leaving
}

// coming is what a call is that has not entered the queue yet.
type coming struct {
	clear chan struct{} // closed when nothing idle is in its way any more
	met   bool          // another call of the process had the lock since it came, or asked for it
}

// leaving is what a call is whose Hold is over.
type leaving struct {
	runEnd bool
	missed bool // the release found nothing
}

// flight is a request that is under way.
type flight struct {
	waiter *waiter
	before request.Attempts
	sent   asked
	done   bool // it was carried out
}

// loss is what is left to do for a grant that was lost.
type loss struct {
	grant *Grant
	rest  func()
}

// world is a name, the calls that want it, and the store: a state of the search.
type world struct {
	plot   plot
	engine *Engine
	store  *stored
	key    string

	calls   []*actor
	losses  []loss
	left    []flight // whose callers have gone
	orphans []request.Disowned
	newest  int64 // the token of the newest exclusive Hold that had a context

	wasLost, wasSilent, wasHeard, wasForeign bool
	deleted                                  *Grant // whose id somebody deleted
	aside
}

type move struct {
	name string
	ends bool // it is an end of something, and nothing to count on
	do   func() error
}

// moves are the steps that can be taken.
func (s *world) moves() (all []move) {
	add := func(name string, ends bool, do func() error) { all = append(all, move{name, ends, do}) }
	for i, a := range s.calls {
		s.movesOf(i, a, func(name string, ends bool, do func() error) {
			add(fmt.Sprintf("%d %s", i, name), ends, do)
		})
	}
	for i, f := range s.left {
		if !f.done {
			add("a request without a caller is carried out", false, func() error { return s.carry(&s.left[i]) })
		} else {
			add("its answer comes", false, func() error { return s.lands(i, nil) })
		}
		if s.plot.silent && !s.wasSilent {
			add("it has no answer", true, func() error { return s.lands(i, errSilent) })
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.store.copies), inOrder) {
		mode := s.store.copies[id]
		add("a late copy is carried out", true, func() error { s.store.take(id, mode); return nil })
	}
	for i := range s.losses {
		add("a loss is told", false, func() error { return s.tell(i) })
	}
	s.movesOfOthers(add)
	if s.plot.kept {
		s.movesOfKept(add)
	}
	return all
}

// movesOfOthers are what happens to the name.
func (s *world) movesOfOthers(add func(name string, ends bool, do func() error)) {
	for _, g := range s.grants() {
		if s.plot.lost && !s.wasLost && !g.Over() {
			add("the hold is deleted", true, func() error { return s.loses(g, hold.Gone) })
			add("its limit is over", true, func() error { return s.loses(g, hold.MaxHold) })
		}
	}
	if s.plot.heard && !s.wasHeard && len(s.grants()) > 0 {
		add("a message comes", true, func() error {
			s.wasHeard = true
			s.engine.table.suspect(s.key, store.OneHolder)
			return nil
		})
	}
	if s.store.foreign {
		add("another process releases", false, func() error { s.store.foreign = false; return nil })
	} else if s.plot.foreign && !s.wasForeign && s.store.free("w") {
		add("another process takes it", true, func() error { s.wasForeign, s.store.foreign = true, true; return nil })
	}
	if s.plot.closes && !s.engine.Closed() && s.calls[0].phase != absent {
		add("the client is closed", true, func() error {
			s.engine.sender.Close()
			_, s.orphans = s.engine.abandonAll()
			return nil
		})
	}
}

// movesOf are the steps of one call.
func (s *world) movesOf(i int, a *actor, add func(name string, ends bool, do func() error)) {
	closed := s.engine.Closed()
	switch a.phase {
	case absent:
		if i == 0 || s.calls[i-1].phase != absent {
			for b := range s.plot.breeds {
				add(s.plot.breeds[b].name+" comes", false, func() error { return s.comes(a, &s.plot.breeds[b]) })
			}
		}
	case clearing:
		add("leaves", !closed, func() error { a.cancel(); a.phase = gone; return nil })
	case entering:
		add("enters", false, func() error { return s.enters(a) })
	case looking:
		add("looks", false, func() error { return s.looks(a) })
	case asleep:
		if len(a.w.Changed()) > 0 {
			add("is woken", false, func() error { <-a.w.Changed(); return s.looks(a) })
		}
		if a.w.Look() == localqueue.Awaiting {
			add("has waited for another's answer for long", true, func() error { a.w.overdue(); return nil })
		}
		add("leaves", !closed, func() error { return s.leaves(a) })
	case flying, answered:
		if a.phase == flying {
			add("is carried out", false, func() error { a.phase = answered; return s.carry(&a.asked) })
		} else {
			add("is answered", false, func() error { return s.settles(a, nil) })
		}
		if s.plot.silent && !s.wasSilent {
			add("has no answer", true, func() error { return s.settles(a, errSilent) })
		}
		add("leaves its request", !closed, func() error { return s.settles(a, request.ErrAbandoned) })
	case listening:
		if s.store.free(a.breed.mode) || a.w.isBehind() {
			add("asks again", false, func() error { return s.asks(a) })
		}
		add("leaves", !closed, func() error { a.w.abandon(); a.phase = gone; return nil })
	case won:
		add("begins", false, func() error { return s.begins(a) })
	case bringing:
		add("brings the others in", false, func() error { s.engine.bring(a.w, a.hold); a.phase = holding; return nil })
	case holding:
		add("unlocks", false, func() error { return s.unlocks(a) })
	case between:
		add("gives it on", false, func() error { return s.givesOn(a) })
	case resting:
		add("keeps it", false, func() error { return s.keeps(a) })
	case passing:
		add("passes it on", false, func() error { return s.passes(a) })
	case parting:
		add("its release is carried out", false, func() error {
			a.missed = s.store.release(grantOf(a.hold).id) == store.Gone
			a.phase = parted
			return nil
		})
		fallthrough
	case parted:
		if a.phase == parted {
			add("its release is answered", false, func() error { return s.parts(a, true) })
		}
		if s.plot.silent && !s.wasSilent {
			add("its release has no answer", true, func() error { s.wasSilent = true; return s.parts(a, false) })
		}
	}
}

var errSilent = &store.Failure{Fault: store.FaultAmbiguous, Err: errors.New("no answer")}

// grants are those that are listed, in the order of their ids.
func (s *world) grants() []*Grant {
	k := s.engine.table.peekAt(s.key, store.OneHolder)
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	return slices.SortedFunc(k.grantsLocked(), func(a, b *Grant) int { return inOrder(a.id, b.id) })
}

// inOrder compares ids by when they were made.
func inOrder(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// comes is Lock, or TryLock, until it has to wait or to ask.
func (s *world) comes(a *actor, b *breed) error {
	a.breed = b
	a.ctx, a.cancel = context.WithCancel(background)
	proto := played{side: side{mode: b.mode, key: s.key}, traits: passes, store: s.store}
	if b.join {
		proto.traits = shares
	}
	a.req = &Request{Proto: proto, Want: floorWant}
	if s.engine.Closed() {
		a.phase = gone
		return nil
	}
	if s.plot.kept {
		return s.comesToKept(a)
	}
	if l := s.engine.join(a.ctx, call{Request: a.req}, outer{}); l != nil {
		return s.joins(a, l)
	}
	return s.enters(a)
}

func (s *world) enters(a *actor) error {
	e := s.engine
	a.w, a.phase = e.newWaiter(a.req, e.clock.Now(), outer{}), looking
	if a.w.once = a.breed.once; a.breed.once {
		if !e.table.enter(a.w, true) {
			if a.phase = gone; s.plot.kept && !a.met && !s.engine.Closed() {
				return errors.New("a try is refused though nobody here has the lock, or asked for it")
			}
		}
		return nil
	}
	e.mayJoin(a.w)
	e.table.enter(a.w, false)
	return nil
}

// looks lets a call look at its state, and do what the state says.
func (s *world) looks(a *actor) error {
	if a.w.Manner == localqueue.Joins && a.w.Changed() != nil {
		l, awaits := a.w.joined()
		switch {
		case awaits:
			a.phase = asleep
			return nil
		case l != nil:
			return s.opens(a, l)
		}
	}
	at, h := localqueue.Asking, (*hold.Hold)(nil)
	if !a.w.asks {
		at, h = a.w.look()
	}
	switch at {
	case localqueue.Granted:
		a.hold, a.phase = h, won
		return nil
	case localqueue.Asking:
		if a.w.begin(); !a.breed.once {
			return s.asks(a)
		}
		s.sends(a)
		return nil
	}
	a.phase = asleep
	return nil
}

// opens gives a reader that joined another's grant its context. The grant may be over by then.
func (s *world) opens(a *actor, l *hold.Level) error {
	if !grantOf(l.Hold()).open(a.ctx, l, call{Request: a.req}) {
		return s.enters(a)
	}
	return s.joins(a, l)
}

func (s *world) joins(a *actor, l *hold.Level) error {
	a.level, a.hold, a.phase = l, l.Hold(), holding
	return nil
}

// asks sends a request of a call, unless the call is behind another one by now.
func (s *world) asks(a *actor) error {
	if a.w.steppedBack(false) {
		a.phase = looking
		return nil
	}
	s.sends(a)
	return nil
}

func (s *world) sends(a *actor) {
	start := s.engine.clock.Now() - KeepMost/2 // a message is younger than the request
	if a.breed.join {
		start = s.engine.clock.Now() - time.Millisecond
	}
	a.asked = flight{waiter: a.w, sent: *a.w.nextAsk(), before: a.w.attempts}
	a.asked.sent.Receipt = store.Receipt{Since: start, Late: 1}
	a.phase = flying
}

// carry is the moment at which the store carries a request out.
func (s *world) carry(f *flight) error {
	f.sent.reply, f.done = s.store.take(f.sent.ask.ID, f.waiter.req.Proto.Mode()), true
	return nil
}

// silence keeps the answer to a request from everybody. A request that was not carried out may be, later.
func (s *world) silence(f *flight) {
	s.wasSilent = true
	f.sent.reply = store.AcquireReply{}
	if !f.done {
		s.store.copies[f.sent.ask.ID] = f.waiter.req.Proto.Mode()
	}
}

// settles is the answer to a request, or none, or the end of the caller's context before it comes.
func (s *world) settles(a *actor, err error) error {
	switch {
	case errors.Is(err, request.ErrAbandoned):
		s.left = append(s.left, a.asked)
		a.asked.sent.reply = store.AcquireReply{}
	case err != nil:
		s.silence(&a.asked)
	}
	a.asked.sent.err = err
	h, _, err := a.w.settle(&a.asked.sent)
	a.asked = flight{}
	switch {
	case h != nil:
		a.hold, a.phase = h, won
	case errors.Is(err, request.ErrAbandoned), s.engine.Closed(), a.breed.once && err == nil:
		a.w.abandon()
		a.phase = gone
	case err != nil: // it asks again
		return s.asks(a)
	case a.w.steppedBack(true):
		a.phase = looking
	default:
		a.phase = listening
	}
	return nil
}

// lands is the answer to a request whose caller has gone, or that there is none.
func (s *world) lands(i int, err error) error {
	f := s.left[i]
	s.left = slices.Delete(slices.Clone(s.left), i, i+1)
	if err != nil {
		s.silence(&f)
	}
	f.sent.err = err
	s.engine.cleanUp(f.waiter, f.before, &f.sent)
	return nil
}

// leaves ends the context of a call that waits in the queue.
func (s *world) leaves(a *actor) error {
	left := s.engine.quit(a.w)
	if left.Hold && a.w.level != nil {
		return s.opens(a, a.w.level)
	}
	s.engine.leaveStore(a.w, left)
	a.phase = gone
	return nil
}

// begins gives the Hold that came to a call its context, and looks at its token.
func (s *world) begins(a *actor) error {
	if a.w == nil {
		return s.beginsKept(a)
	}
	l, ok := attach(a.ctx, s.engine.given(a.w, a.hold), call{Request: a.req})
	if !ok {
		if a.w.awaited {
			s.engine.bring(a.w, a.hold)
		}
		if a.breed.once || s.engine.Closed() {
			a.phase = gone
			return nil
		}
		return s.enters(a)
	}
	if err := s.holds(a, l); err != nil {
		return err
	}
	if a.w.awaited {
		a.phase = bringing
	}
	return nil
}

// holds is the begin of a context. It looks at the token.
func (s *world) holds(a *actor, l *hold.Level) error {
	if a.breed.mode == "w" {
		if a.hold.Fence <= s.newest {
			return fmt.Errorf("token %d after %d", a.hold.Fence, s.newest)
		}
		s.newest = a.hold.Fence
	}
	a.level, a.phase = l, holding
	return nil
}

func (s *world) unlocks(a *actor) error {
	g := grantOf(a.hold)
	_, last, _ := g.part(a.level, !s.engine.Closed())
	if a.phase = gone; last {
		a.phase = between
	}
	return nil
}

// givesOn is passOn, up to the release.
func (s *world) givesOn(a *actor) error {
	switch {
	case s.engine.Closed():
		return s.releases(a)
	case grantOf(a.hold).kept == nil:
		return s.passes(a)
	}
	a.phase = resting
	return nil
}

func (s *world) passes(a *actor) error {
	g := grantOf(a.hold)
	next, runOver := g.key.pass(g, s.engine.clock.Now())
	if next == nil {
		a.runEnd = runOver
		return s.releases(a)
	}
	if a.phase = gone; s.engine.Closed() {
		g.disown()
	}
	return nil
}

func (s *world) releases(a *actor) error {
	if a.phase = gone; grantOf(a.hold).retire() {
		a.phase = parting
	}
	return nil
}

// parts ends a release.
func (s *world) parts(a *actor, isAnswered bool) error {
	g := grantOf(a.hold)
	switch {
	case !isAnswered:
		s.engine.sender.Disown(request.Disowned{Proto: g.parting(), ID: g.id, Lease: g.Longest()})
		g.key.drop(g)
	case a.missed:
		g.key.drop(g)
	default:
		g.key.released(g, a.hold.Start(), runEnd{over: a.runEnd})
	}
	g.sweep()
	a.phase = gone
	return nil
}

// loses is the loss of a grant, of which the rest follows. A limit stands for the end of a lease as well, by which the
// store has the id for a moment longer.
func (s *world) loses(g *Grant, reason hold.Reason) error {
	s.wasLost = true
	if reason == hold.Gone {
		s.store.release(g.id)
		s.deleted = g
	}
	if rest := g.losing(reason, nil); rest != nil {
		s.losses = append(s.losses, loss{g, rest})
	}
	return nil
}

func (s *world) tell(i int) error {
	rest := s.losses[i].rest
	s.losses = slices.Delete(slices.Clone(s.losses), i, i+1)
	rest()
	return nil
}

// tidy forgets what those that have ended had. Only their contexts can still tell.
func (s *world) tidy() {
	for _, a := range s.calls {
		if a.phase == clearing && isClosed(a.clear) {
			a.phase = entering
		}
		if a.phase == gone {
			a.w, a.hold, a.asked, a.req = nil, nil, flight{}, nil
			if !a.lives() {
				*a = actor{breed: a.breed, phase: gone, cancel: a.cancel}
			}
		}
	}
	s.meets()
	maps.DeleteFunc(s.told, func(id string, _ bool) bool {
		return s.store.stands[id] == "" && s.store.copies[id] == ""
	})
}

// over reports that all calls have ended.
func (s *world) over() bool {
	for _, a := range s.calls {
		if a.phase != gone {
			return false
		}
	}
	return len(s.left) == 0 && len(s.losses) == 0 && len(s.letting) == 0 && len(s.store.sent) == 0
}

// lives reports that the context of a call says that it holds.
func (a *actor) lives() bool { return a.level != nil && a.level.Err() == nil }

// broken is what must not be.
func (s *world) broken() error {
	for i, a := range s.calls {
		if !a.lives() || s.deleted == grantOf(a.level.Hold()) {
			continue
		}
		if s.store.stands[grantOf(a.level.Hold()).id] == "" {
			return fmt.Errorf("%d holds what the store does not have", i)
		}
		for j, b := range s.calls[:i] {
			if b.lives() && s.deleted != grantOf(b.level.Hold()) && (a.breed.mode == "w" || b.breed.mode == "w") {
				return fmt.Errorf("%d and %d hold", j, i)
			}
		}
	}
	if err := s.brokenKept(); err != nil || !s.over() {
		return err
	}
	for _, a := range s.calls {
		if a.lives() {
			return errors.New("a context goes on that nobody ends")
		}
	}
	if s.engine.Closed() {
		s.engine.sender.ReleaseAll(s.orphans, s.engine.clock.Now()+time.Minute)
	}
	idle := s.idle()
	if n := len(s.store.stands) + len(s.store.copies); n > 1 || n == 1 && !s.has(idle) {
		return fmt.Errorf("%d ids are left behind", n)
	}
	k := s.engine.table.get(s.key, store.OneHolder)
	if k != nil && idle == nil && (k.grant != nil || k.queue == nil || !k.queue.Empty()) {
		return errors.New("a key that nobody needs")
	}
	return nil
}
