package engine

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
)

// aside is what the world knows of a lock that may stay with its process. Nothing is done about a want that is lost: it
// stays on its way for ever.
type aside struct {
	want    string          // the id of which a message is on its way to the client, which may be over by then
	told    map[string]bool // those that the client was told of
	letting []*Grant        // that were idle: a goroutine is about to let them go
	aged    bool            // a second has passed
	old     *Grant          // that was there before
}

// sending is a release that the engine sends by itself.
type sending struct {
	id     string
	status store.Status
	done   bool // it was carried out
	answer chan error
}

// errGivenUp ends the attempts of a release at once, as its time limit does.
var errGivenUp = &store.Failure{Fault: store.FaultDefinite, Err: errors.New("no answer")}

// send carries a release out, when the search says so if it is slow.
func (m *stored) send(id string) (store.ReleaseReply, error) {
	m.mu.Lock()
	if !m.slow {
		m.mu.Unlock()
		return store.ReleaseReply{Status: m.release(id)}, nil
	}
	s := &sending{id: id, answer: make(chan error, 1)}
	m.sent = append(m.sent, s)
	slices.SortFunc(m.sent, func(a, b *sending) int { return inOrder(a.id, b.id) })
	m.mu.Unlock()
	err := <-s.answer
	return store.ReleaseReply{Status: s.status}, err
}

// answered is the answer to a release, or that there is none.
func (m *stored) answered(s *sending, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = slices.DeleteFunc(m.sent, func(one *sending) bool { return one == s })
	s.answer <- err
}

// answerAll ends the world's releases.
func (m *stored) answerAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slow = false
	for _, s := range m.sent {
		s.answer <- nil
	}
}

// movesOfKept are what happens to a lock that stays with its process. None of them is anything to count on but what a
// goroutine of the engine has begun.
func (s *world) movesOfKept(add func(name string, ends bool, do func() error)) {
	if id := s.marked(); s.plot.wanted && id != "" && s.want == "" {
		add("another process is refused", true, func() error { s.want = id; return s.wanted(!s.plot.late) })
	}
	if s.want != "" {
		add("a want comes", true, func() error { return s.wanted(true) })
	}
	for i, g := range s.letting {
		add("an idle grant is let go", false, func() error {
			s.letting = slices.Delete(slices.Clone(s.letting), i, i+1)
			s.engine.sender.Spawn(g.letGo)
			return nil
		})
	}
	for _, one := range s.store.sent {
		if !one.done {
			add("the engine's release is carried out", false, func() error {
				one.status, one.done = s.store.release(one.id), true
				return nil
			})
		} else {
			add("the engine's release is answered", false, func() error { s.store.answered(one, nil); return nil })
		}
		if s.plot.silent && !s.wasSilent {
			add("the engine's release has no answer", true, func() error {
				s.wasSilent = true
				s.store.answered(one, errGivenUp)
				return nil
			})
		}
	}
	s.movesOfTime(add)
}

// movesOfTime are those that the clock makes.
func (s *world) movesOfTime(add func(name string, ends bool, do func() error)) {
	for _, g := range s.grants() {
		if g.kept != nil && g.kept.armed {
			add("the time for which it may be idle is over", true, func() error { return s.unused(g) })
		}
		if s.plot.old && !s.aged && !g.Over() {
			add("a second passes", true, func() error { s.ages(g); return nil })
		}
	}
	if !s.engine.keeper.may(s.key, s.engine.clock.Now()) {
		add("the name may be kept again", true, func() error { s.keepAgain(); return nil })
	}
}

// marked is the id because of which a refusal of another process is told to this one; "": there is none.
func (s *world) marked() string {
	for id := range s.store.stands {
		if !s.store.foreign && strings.HasPrefix(id, "c:"+store.KeptMark) {
			return id
		}
	}
	return ""
}

// wanted is the engine's, up to the goroutine that lets an idle grant go.
func (s *world) wanted(isHere bool) error {
	id := s.want
	if !isHere {
		return nil
	}
	s.want, s.told[id] = "", true
	k := s.engine.table.peekAt(s.key, store.OneHolder)
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	if g := k.wantedLocked(id); g != nil {
		s.lets(g)
	}
	return nil
}

// lets begins a goroutine that lets an idle grant go.
func (s *world) lets(g *Grant) {
	if !slices.Contains(s.letting, g) {
		s.letting = append(slices.Clone(s.letting), g)
	}
}

// unused has the wheel come to a grant, which was idle for long if it is idle.
func (s *world) unused(g *Grant) error {
	g.key.mu.Lock()
	g.kept.since -= g.Keep()
	g.key.mu.Unlock()
	if !s.engine.wheel.Cancel(&g.kept.timer) {
		return errors.New("a timer is noted as armed that is not")
	}
	if g.isOverdue() {
		s.lets(g)
	}
	return nil
}

// ages makes a grant a second older.
func (s *world) ages(g *Grant) {
	s.aged, s.old = true, g
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	g.since -= KeepMost
}

// keepAgain forgets that others wanted the name.
func (s *world) keepAgain() {
	s.engine.keeper.mu.Lock()
	defer s.engine.keeper.mu.Unlock()
	delete(s.engine.keeper.wanted, s.key)
}

// comesToKept is Lock, or TryLock, until it has an idle grant, or looked for one.
func (s *world) comesToKept(a *actor) error {
	if a.breed.keep {
		a.req.Keep = KeepMost
	}
	h, _, _ := s.engine.table.resume(a.req)
	if h == nil || h.Fence == 0 && !s.mints(h) {
		return s.asksKept(a)
	}
	a.hold, a.phase = h, won
	switch g := grantOf(h); {
	case s.told[g.id]:
		return errors.New("it has what another process is known to want")
	case s.old == g:
		return errors.New("it has what the store said long ago")
	case g.suspect:
		return errors.New("it has what may be lost")
	}
	return nil
}

// mints is what the engine does for a Hold that has no token yet, in one step: the store mints one, if it has the grant.
func (s *world) mints(h *hold.Hold) bool {
	g := grantOf(h)
	if !s.has(g) {
		g.lose(hold.Gone, nil)
		return false
	}
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.fence += 1 + s.store.spare
	g.fence = s.store.fence
	g.lendLocked(h, s.store.spare)
	return true
}

// asksKept is the way of a call that no idle grant is for. A try waits until one is released that is in its way.
func (s *world) asksKept(a *actor) error {
	a.req = s.engine.keeps(a.req)
	if a.phase = entering; a.breed.once {
		a.phase, a.clear = clearing, make(chan struct{})
		go func() {
			defer close(a.clear)
			s.engine.clear(a.ctx, a.req.Proto)
		}()
	}
	return nil
}

// beginsKept gives the Hold of an idle grant its context.
func (s *world) beginsKept(a *actor) error {
	l, ok := begin(a.ctx, a.hold, call{Request: a.req})
	if !ok {
		return s.asksKept(a)
	}
	return s.holds(a, l)
}

// keeps is the beginning of passOn where the grant may become idle.
func (s *world) keeps(a *actor) error {
	g := grantOf(a.hold)
	if !g.key.rest(g, s.engine.clock.Now()) {
		a.phase = passing
		return nil
	}
	if a.phase = gone; s.engine.Closed() {
		g.disown()
	}
	return nil
}

// idle is the grant that is idle; nil: there is none.
func (s *world) idle() *Grant {
	for _, g := range s.grants() {
		if g.IsIdleLocked() {
			return g
		}
	}
	return nil
}

// has reports that the store has a grant.
func (s *world) has(g *Grant) bool { return g != nil && s.store.stands[g.id] != "" }

// meets notes for those that have not entered the queue that another call of the process had the lock, or asked for it.
func (s *world) meets() {
	for _, a := range s.calls {
		for _, b := range s.calls {
			a.met = a.met || (a.phase == clearing || a.phase == entering) && b.phase > entering && b.phase < gone
		}
	}
}

// brokenKept is what must not be of what is idle.
func (s *world) brokenKept() error {
	for _, g := range s.grants() {
		if h := g.CurrentLocked(); s.plot.kept && h != nil && h.Fence != g.fence {
			return errors.New("a grant has not the token of its newest Hold")
		}
		if g.kept != nil && g.kept.wanted && !s.told[g.id] && s.has(g) {
			return errors.New("a want of another grant was taken for its own")
		}
	}
	g := s.idle()
	switch {
	case len(s.grants()) == 0 && !s.engine.keeper.isEmpty():
		return errors.New("a grant is noted as idle that is over")
	case g == nil || slices.Contains(s.letting, g):
		return nil
	case g.kept.at == nil:
		return errors.New("a grant is not noted as idle")
	case s.told[g.id]:
		return errors.New("a grant stays that another process is known to want")
	case s.engine.Closed():
		return errors.New("a grant stays with a client that is closed")
	case !s.engine.wheel.Cancel(&g.kept.timer):
		return errors.New("nothing ends the time for which a grant is idle")
	}
	s.engine.wheel.Schedule(&g.kept.timer, s.engine.clock.Now()+time.Second)
	return nil
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
