package localqueue

import (
	"errors"
	"fmt"
)

// The rules that a search checks in every state, said once more and in the plainest way: by all pairs of waiters.

// excluded reports that a live hold is in i's way.
func (s *world) excluded(i int) bool {
	for j := range s.calls[:s.n] {
		if s.calls[j].holds && s.calls[i].breed.kind.Excludes(s.calls[j].breed.kind.Mode()) {
			return true
		}
	}
	return false
}

// waits reports that i is in the queue: it has come, and has neither a hold nor left.
func (s *world) waits(i int) bool {
	switch s.waiters[i].state {
	case Waiting, Awaiting, Asking:
		return s.calls[i].phase >= awake && s.calls[i].phase <= refused
	}
	return false
}

// inFrontOf reports that those that follow j stand behind it: not behind one of several that nobody refused.
func (s *world) inFrontOf(i, j int) bool {
	return j < i && s.waits(j) && s.calls[i].breed.kind.Follows(s.calls[j].breed.kind.Mode()) &&
		(!s.calls[j].breed.several || s.calls[j].told)
}

// mayAsk reports that i may ask Redis: no hold is in its way, nobody goes first, and nobody ahead of it has to wait.
func (s *world) mayAsk(i int) bool {
	if s.excluded(i) {
		return false
	}
	for j := range i {
		if s.inFrontOf(i, j) || s.waits(j) && !s.calls[j].breed.inside && s.waiters[j].state != Asking && !s.mayAsk(j) {
			return false
		}
	}
	return true
}

// awaits reports that i waits for what Redis answers another one, which asks or is about to have it join.
func (s *world) awaits(i int) bool {
	a := s.queue.asker
	if s.waiters[i].state != Awaiting || a == nil {
		return false
	}
	asker := &s.calls[s.index(a)]
	return asker.breed.joins && (a.state == Asking || asker.phase == bringing)
}

// refusesTry reports that a try has nothing to ask for.
func (s *world) refusesTry(i int) bool {
	if s.excluded(i) {
		return true
	}
	for j := range i {
		if s.waits(j) && s.calls[i].breed.kind.Follows(s.calls[j].breed.kind.Mode()) && s.queue.said.Err == nil &&
			(s.calls[j].told || s.excluded(j)) {
			return true
		}
	}
	return false
}

// heir reports whether a hold of i may pass to j.
func (s *world) heir(i, j int) error {
	switch {
	case !s.waits(j) || s.calls[j].phase == flying:
		return fmt.Errorf("%d is passed a hold, and does not wait", j)
	case s.calls[j].breed.set || !s.calls[j].breed.kind.Inherits(s.calls[i].breed.kind.Mode()):
		return fmt.Errorf("%d cannot take the hold of %d", j, i)
	}
	if err := s.inPlace(j); err != nil {
		return err
	}
	for k := range s.calls[:s.n] {
		if k < j && s.waits(k) {
			return fmt.Errorf("%d overtakes %d", j, k)
		}
		if k != i && s.calls[k].holds && s.calls[j].breed.conflicts(s.calls[k].breed) {
			return fmt.Errorf("%d is passed a hold beside that of %d", j, k)
		}
	}
	return nil
}

// inPlace reports whether j may be passed a hold as far as its place in Redis's queue is concerned.
func (s *world) inPlace(j int) error {
	w, c := &s.waiters[j], &s.calls[j]
	switch {
	case !c.breed.registers:
		return nil
	case !s.next || w.Ticket() == 0:
		return fmt.Errorf("%d is passed a hold, and may not stand next", j)
	case c.late || s.registrar == 3 && s.batch&(1<<j) != 0:
		return fmt.Errorf("%d is passed a hold while it may be registered", j)
	}
	return nil
}

// broken is the rule that a state breaks; before is the state that it followed from.
func (s *world) broken(before *world) error {
	if err := s.order(); err != nil {
		return err
	}
	for i := range s.calls[:s.n] {
		if err := s.brokenBy(i, before); err != nil {
			return err
		}
	}
	return s.leftBehind()
}

func (s *world) brokenBy(i int, before *world) error {
	c, w := &s.calls[i], &s.waiters[i]
	if c.phase == absent || c.phase == gone {
		return nil
	}
	mayAsk := s.waits(i) && s.mayAsk(i)
	if w.state != Asking && mayAsk && !s.awaits(i) {
		return fmt.Errorf("%d is forgotten", i)
	}
	asked := before.calls[i].phase != absent && before.waiters[i].state == Asking
	if s.waits(i) && w.state == Asking && !asked && !mayAsk && !c.breed.once && !c.breed.inside &&
		!(c.breed.registers && s.queue.first == w) { // which polls
		return fmt.Errorf("%d asks, and is not to", i)
	}
	if awaited := w.Look() == Waiting || w.Look() == Awaiting; c.phase == asleep &&
		!awaited && len(w.changed) == 0 {
		return fmt.Errorf("%d sleeps in state %d", i, w.state)
	}
	for j := range s.calls[:s.n] {
		if s.together(i, j) {
			return fmt.Errorf("%d and %d ask at the same time", i, j)
		}
		if i < j && c.holds && s.calls[j].holds && c.breed.conflicts(s.calls[j].breed) &&
			!c.breed.inside && !s.calls[j].breed.inside {
			return fmt.Errorf("%d and %d hold at the same time", i, j)
		}
	}
	return nil
}

// together reports that j asks behind i, which it is to wait for. A call that was refused finds out at its next look,
// and so does one that has to step back then.
func (s *world) together(i, j int) bool {
	a, b := &s.calls[i], &s.calls[j]
	if !s.waits(j) || s.waiters[i].state != Asking || s.waiters[j].state != Asking || !s.inFrontOf(j, i) ||
		a.breed.once || b.breed.once || a.breed.inside || b.breed.inside {
		return false
	}
	if !b.breed.several {
		return !a.breed.several // otherwise it asked before a was refused
	}
	return b.told && b.phase != refused && a.phase != refused
}

// order is the order of the queue, which is that of arrival, and its count of those that others stand behind.
func (s *world) order() error {
	last, blocking, listed := -1, 0, 0
	var prev *Waiter
	for w := s.queue.first; w != nil; prev, w = w, w.next {
		i := s.index(w)
		if i <= last || !w.listed() || w.prev != prev || !s.waits(i) {
			return fmt.Errorf("the queue is out of order at %d", i)
		}
		if w.refused != s.calls[i].told {
			return fmt.Errorf("whether %d was refused: %v", i, w.refused)
		}
		if !s.calls[i].breed.several || s.calls[i].told {
			blocking++
		}
		last, listed = i, listed+1
	}
	for i := range s.calls[:s.n] {
		if s.waits(i) {
			listed--
		}
	}
	if s.queue.last != prev || s.queue.blocking != blocking || listed != 0 {
		return errors.New("the queue is not what it counts")
	}
	holds := 0
	for i := range s.calls[:s.n] {
		if s.calls[i].holds {
			holds++
		}
	}
	if n := s.queue.holds.total(); n != holds {
		return fmt.Errorf("%d holds are counted, of %d", n, holds)
	}
	return nil
}

// leftBehind is what nobody cleans up any more: of a call that is gone, unless its registration is under way; and, when
// all are gone, of the queue.
func (s *world) leftBehind() error {
	all := true
	for i := range s.calls[:s.n] {
		c := &s.calls[i]
		all = all && c.phase == gone
		if c.phase == gone && !c.holds && c.trace {
			return fmt.Errorf("of %d something is left", i)
		}
		if c.phase == gone && c.entry && !s.waiters[i].granted() && !s.isRegistered(i) {
			return fmt.Errorf("of %d an entry is left", i)
		}
	}
	if !all || s.registrar != 0 {
		return nil
	}
	q := s.queue
	if !q.Empty() || q.last != nil || q.Forget() != 0 || !q.Idle() {
		return errors.New("the queue is not empty")
	}
	return nil
}

// granted reports that the waiter came to its hold: an entry in Redis's queue became that.
func (w *Waiter) granted() bool { return w.state == Granted }
