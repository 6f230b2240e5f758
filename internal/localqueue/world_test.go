package localqueue

import (
	"errors"
	"fmt"
	"hash/maphash"
	bitcount "math/bits"
	"slices"
	"strconv"
	"time"
)

// most is how many waiters a world has at most.
const most = 5

// breed is what a waiter of a search may be.
type breed struct {
	name      string
	number    int // in its scene
	kind      Kind
	alone     bool // Redis lets nobody else have the lock beside it, whatever the queue knows of that
	once      bool // it tries, and does not wait
	several   bool
	inside    bool
	set       bool
	registers bool
	joins     bool // it joins a hold of its kind that lives here, if it may, and asks otherwise
}

// manner is that of its waiter. A try awaits nobody.
func (b *breed) manner() Manner {
	switch {
	case b.inside:
		return Inside
	case b.set:
		return Set
	case b.joins && !b.once:
		return Joins
	}
	return Plain
}

// conflicts is the truth about two holds, as Redis has it.
func (b *breed) conflicts(other *breed) bool {
	return b.alone || other.alone || b.kind.Excludes(other.kind.Mode()) || other.kind.Excludes(b.kind.Mode())
}

// phase is where a call is, outside the queue.
type phase uint8

const (
	absent    phase = iota // it has not come
	awake                  // it is about to look at its state
	asleep                 // it saw that it has to wait
	flying                 // its request is under way
	refused                // Redis told it to wait, and it is about to look whether somebody asks for it
	holding                // the hold is its
	releasing              // its hold is being released
	joined                 // it has the hold of another one, together with that
	bringing               // it has its hold, and others waited for the answer
	gone
)

// call is one call and what the world has of it.
type call struct {
	breed   *breed
	phase   phase
	holds   bool // a hold of its counts
	told    bool // the model's note that it was refused, by Redis or by a hold
	trace   bool // something may stand in Redis for its id
	entry   bool // or in the queue there, for as long as a registration may be carried out
	late    bool // a registration of it had no answer, and may be carried out at any time
	runOver bool // the release ends a run
	to      int8 // whose hold it joined
}

// world is a queue, its calls, and Redis as far as it matters: a state of the search.
type world struct {
	queue   Queue
	waiters [most]Waiter
	places  [most]Place // of those that have one
	calls   [most]call
	n       int

	registrar uint8 // 0: none; 1: about to look for work; 2: it has a batch; 3: it has sent that
	batch     uint8 // those in it, as bits

	next bool // what Redis said last: those of this process that have places stand before everybody
}

// copy makes the same world with waiters of its own.
func (s *world) copy() *world {
	c := *s
	c.queue.first, c.queue.last = c.same(s, s.queue.first), c.same(s, s.queue.last)
	c.queue.asker = c.same(s, s.queue.asker)
	c.queue.holds.more = append([]modeCount(nil), s.queue.holds.more...)
	for i := range c.waiters[:c.n] {
		w := &c.waiters[i]
		w.next, w.prev = c.same(s, w.next), c.same(s, w.prev)
		if w.Place != nil {
			w.Place = &c.places[i]
		}
		if told := s.waiters[i].changed; told != nil {
			w.changed = make(chan struct{}, 1)
			if len(told) > 0 {
				w.signal()
			}
		}
	}
	return &c
}

// same is the waiter of c that stands for one of s.
func (c *world) same(s *world, w *Waiter) *Waiter {
	if w == nil {
		return nil
	}
	return &c.waiters[s.index(w)]
}

func (s *world) index(w *Waiter) int {
	for i := range s.waiters {
		if &s.waiters[i] == w {
			return i
		}
	}
	panic("a waiter of another world")
}

// key is the same for states that behave the same. Calls that are gone leave no trace in it, so the states of fewer
// calls are among those of more.
func (s *world) key() fingerprint {
	at, kept := make([]byte, 0, 160), uint8(0)
	bits := func(flags ...bool) {
		var b byte
		for i, flag := range flags {
			if flag {
				b |= 1 << i
			}
		}
		at = append(at, b)
	}
	var place [most]byte // among those that are not gone
	for i := range s.calls[:s.n] {
		place[i] = byte(bitcount.OnesCount8(kept))
		if c, w := &s.calls[i], &s.waiters[i]; c.phase != gone || w.Place.isRegistering() || c.holds {
			kept |= 1 << i
		}
	}
	q := &s.queue
	batch := uint8(0)
	for i := range s.calls[:s.n] {
		if s.batch&(1<<i) != 0 {
			batch |= 1 << place[i]
		}
	}
	bits(q.calm, q.registrar, q.said.Err != nil, q.debt.until > 0, q.next > 0, s.next)
	at = append(at, byte(q.blocking), byte(q.holds.total()), byte(q.run.passes),
		byte(q.debt.owes), byte(q.debt.others), byte(q.debt.absent), s.registrar, batch, byte(q.awaiting))
	for i := range s.calls[:s.n] {
		if kept&(1<<i) == 0 {
			continue
		}
		c, w, p := &s.calls[i], &s.waiters[i], &s.places[i]
		at = append(at, byte(c.phase))
		if c.phase == absent {
			continue
		}
		at = append(at, byte(c.breed.number), byte(w.state), byte(len(w.changed)), byte(w.Ticket()))
		if c.phase == joined {
			at = append(at, place[c.to])
		}
		bits(c.holds, c.told, c.trace, c.entry, c.runOver, c.late, w.changed != nil)
		bits(p.registering, w.sent, w.refused, p.late > 0, p.unsure, q.asker == w)
	}
	return fingerprint{maphash.Bytes(seeds[0], at), maphash.Bytes(seeds[1], at)}
}

// fingerprint stands for a state. That two of some millions have the same one is not to be expected.
type fingerprint [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

var errNoAnswer = errors.New("no answer")

// move is one step of the world. A world in which only calls whose contexts end can move is stuck.
type move struct {
	name string
	i    int  // whose it is
	ends bool // it is the end of a context, or a loss: nothing to count on
	do   func(s *world, i int) error
}

// moves are the steps that can be taken, where calls may be of some breeds.
func (s *world) moves(breeds []breed) (all []move) {
	add := func(name string, i int, ends bool, do func(s *world, i int) error) {
		all = append(all, move{name, i, ends, do})
	}
	for i := range s.calls[:s.n] {
		c, w := &s.calls[i], &s.waiters[i]
		switch c.phase {
		case absent:
			for b := range breeds {
				if i == 0 || s.calls[i-1].phase != absent {
					add(breeds[b].name+" comes", i, false, func(s *world, i int) error { return s.comes(i, &breeds[b]) })
				}
			}
		case awake:
			add("looks", i, false, (*world).looks)
			add("leaves", i, true, (*world).leaves)
		case asleep:
			if len(w.changed) > 0 {
				add("is woken", i, false, (*world).looks)
			}
			if w.Registers() && w == s.queue.first {
				add("polls", i, true, (*world).polls)
			}
			if w.state == Awaiting {
				add("has waited for another's answer for long", i, true, (*world).overdue)
			}
			add("leaves", i, true, (*world).leaves)
		case flying:
			s.answers(i, add)
			add("leaves", i, true, (*world).leaves)
		case refused:
			add("was refused", i, false, (*world).steps)
		case holding:
			add("unlocks", i, false, func(s *world, i int) error { return s.unlocks(i, 0, true) })
			add("unlocks, and memory is not enough", i, false, func(s *world, i int) error {
				return s.unlocks(i, 0, false)
			})
			if s.queue.run.passes > 0 {
				add("unlocks late", i, false, func(s *world, i int) error { return s.unlocks(i, time.Hour, true) })
			}
			add("is lost", i, true, (*world).loses)
		case bringing:
			if c.holds {
				add("brings the others in", i, false, func(s *world, i int) error { return s.brings(i, true) })
				add("is lost", i, true, (*world).vanishes)
			}
			add("has nobody join", i, c.holds, func(s *world, i int) error { return s.brings(i, false) })
		case joined:
			add("leaves the hold to others", i, false, (*world).parts)
		case releasing:
			add("is released", i, false, (*world).released)
			add("is not known to be released", i, false, (*world).drops)
		}
	}
	switch s.registrar {
	case 1:
		add("registrar looks", 2, false, (*world).picks)
		add("registrar gives up", 0, false, (*world).stops)
	case 2:
		add("registrar sends", 0, false, (*world).registers)
	case 3:
		for next := range 2 {
			add("registrar is answered", next, false, func(s *world, next int) error {
				return s.registered(false, next)
			})
		}
		add("registrar is told of a lapse", 1, false, func(s *world, next int) error {
			s.queue.Lapse(true)
			return s.registered(false, next)
		})
		add("registrar is not answered", 0, false, func(s *world, _ int) error { return s.registered(true, 0) })
	}
	return all
}

type adder func(name string, i int, ends bool, do func(s *world, i int) error)

// answers are what Redis may say to a request.
func (s *world) answers(i int, add adder) {
	add("is told busy", i, false, (*world).busy)
	if s.calls[i].breed.registers {
		add("is told of a lapse", i, false, (*world).lapses)
	}
	if s.grantable(i) {
		add("wins", i, false, (*world).wins)
		if s.calls[i].breed.registers {
			add("wins before its own", i, false, (*world).winsNext)
			add("wins what was meant for another", i, false, (*world).winsSwapped)
		}
	}
	if s.queue.said.Err == nil && !s.calls[i].breed.once {
		add("gets no answer", i, false, (*world).silence)
	}
}

// grantable reports that Redis may grant i: no hold is in its way there, except one that it is inside.
func (s *world) grantable(i int) bool {
	for j := range s.calls[:s.n] {
		if s.calls[j].holds && s.calls[i].breed.conflicts(s.calls[j].breed) && !s.calls[i].breed.inside {
			return false
		}
	}
	return true
}

func (s *world) comes(i int, b *breed) error {
	c, w := &s.calls[i], &s.waiters[i]
	c.breed = b
	*w = Waiter{Caller: Caller{Kind: c.breed.kind, Several: c.breed.several, Manner: c.breed.manner()}, ID: strconv.Itoa(i)}
	if c.breed.registers {
		s.places[i] = Place{}
		w.Place = &s.places[i]
	}
	if c.breed.joins {
		if joins, err := s.joins(i); joins || err != nil {
			return err
		}
	}
	if !c.breed.once {
		c.phase = awake
		s.queue.Enter(w)
		return nil
	}
	want := s.refusesTry(i)
	if entered := s.queue.Try(w); entered == want {
		return fmt.Errorf("try %d entered: %v", i, entered)
	}
	if c.phase = awake; want {
		c.phase = gone
	}
	return nil
}

// looks is a call that looks at its state, and does what that says.
func (s *world) looks(i int) error {
	c, w := &s.calls[i], &s.waiters[i]
	slept := c.phase == asleep
	if slept {
		<-w.changed
	}
	switch w.Look() {
	case Granted:
		c.phase = holding
		if !c.holds {
			c.phase = gone // it was lost meanwhile
		}
	case Asking:
		if s.registrar == 3 && s.batch&(1<<i) != 0 {
			return fmt.Errorf("two requests of %d are under way", i)
		}
		w.Asks()
		c.phase, c.trace = flying, true
	default:
		c.phase = asleep
		if !slept && w.Registers() && s.queue.BeginRegistrar(w) {
			if s.registrar != 0 {
				return errors.New("two registrars")
			}
			s.registrar = 1
		}
	}
	return nil
}

func (s *world) busy(i int) error {
	c, w := &s.calls[i], &s.waiters[i]
	s.queue.Say(Said{Spoke: true})
	s.queue.Busy(w)
	c.told = true
	switch {
	case c.breed.once:
		return s.leaves(i)
	case c.breed.several, c.breed.registers:
		c.phase = refused
	default:
		c.phase = awake
	}
	if w.Registers() {
		w.SetTicket(1)
	}
	return nil
}

// lapses is a refusal that says that Redis had given up the others.
func (s *world) lapses(i int) error {
	if s.queue.Lapse(false) {
		if s.registrar != 0 {
			return errors.New("two registrars")
		}
		s.registrar = 1
	}
	return s.busy(i)
}

// polls is a look at the clock of one that sleeps.
func (s *world) polls(i int) error {
	s.queue.Poll(&s.waiters[i])
	s.calls[i].phase = awake
	return nil
}

// winsNext is a grant that says that others of this process stand next in Redis's queue.
func (s *world) winsNext(i int) error {
	err := s.wins(i)
	s.queue.Stands(1, 0)
	s.next = true
	return err
}

// winsSwapped is one that says besides that one of these has another place.
func (s *world) winsSwapped(i int) error {
	err := s.winsNext(i)
	s.queue.Swapped()
	return err
}

// steps is what follows a refusal, for one of several and one that has a place in Redis's queue.
func (s *world) steps(i int) error {
	s.queue.StepBack(&s.waiters[i])
	s.calls[i].phase = awake
	return nil
}

func (s *world) silence(i int) error {
	s.queue.Say(Said{Err: errNoAnswer})
	s.calls[i].phase = awake
	return nil
}

func (s *world) wins(i int) error {
	c := &s.calls[i]
	c.phase, c.holds, c.trace = holding, true, false // what stands there is the hold
	s.queue.Hold(c.breed.kind.Mode())
	s.queue.Say(Said{Spoke: true})
	s.queue.Win(&s.waiters[i])
	if s.queue.Awaited(&s.waiters[i]) {
		c.phase = bringing
	}
	if c.breed.registers {
		s.queue.Stands(0, 0)
		s.next = false
	}
	return nil
}

// leaves is a call whose context ended. If a request is under way, whatever that may still take is cleaned up
// after by the one that sent it.
func (s *world) leaves(i int) error {
	c, w := &s.calls[i], &s.waiters[i]
	if c.phase == flying && !c.breed.once {
		if w.state != Asking && !w.Several {
			return fmt.Errorf("the id of %d was used by two", i)
		}
		w.Rename("a")
		c.trace, c.entry, c.late = false, false, false
	}
	left := s.queue.Leave(w)
	if !left.Hold {
		c.phase = gone
		return s.cleansUp(i, left)
	}
	if left != (Remains{Hold: true}) {
		return fmt.Errorf("%d has a hold, and more to clean up", i)
	}
	if c.phase = gone; c.holds {
		return s.unlocks(i, 0, true)
	}
	return nil
}

// cleansUp does what a waiter was told to clean up.
func (s *world) cleansUp(i int, left Remains) error {
	c := &s.calls[i]
	if left.Hold {
		return fmt.Errorf("%d has a hold that nobody gave it", i)
	}
	if left.ID == "" {
		return nil // others do that, or it shows at the end
	}
	c.trace = false
	if !s.isRegistered(i) && (!c.late || left.Late >= registration) {
		c.entry = false
	}
	return nil
}

// isRegistered reports that a registration of a call is under way, after which the registrar cleans up.
func (s *world) isRegistered(i int) bool { return s.registrar == 3 && s.batch&(1<<i) != 0 }

// unlocks ends a hold: it passes, if memory is enough, or it is released.
func (s *world) unlocks(i int, now time.Duration, enough bool) error {
	c := &s.calls[i]
	if s.passes(i) {
		return nil
	}
	w, runOver := s.queue.Next(c.breed.kind.Mode(), nil, now)
	if w != nil {
		if runOver || now > 0 {
			return errors.New("a run that is over goes on")
		}
		if err := s.heir(i, s.index(w)); err != nil {
			return err
		}
		if enough {
			s.grants(i, s.index(w))
			return nil
		}
	}
	c.phase, c.runOver = releasing, runOver || w != nil
	if c.runOver {
		s.queue.RunEnds(Heard{})
	}
	return nil
}

func (s *world) grants(i, j int) {
	from, to := &s.calls[i], &s.calls[j]
	from.phase, from.holds, to.holds = gone, false, true
	to.trace, to.entry = false, false // what stands there is the hold, or what its end cleans up
	s.queue.Unhold(from.breed.kind.Mode())
	s.queue.Hold(to.breed.kind.Mode())
	s.queue.Grant(&s.waiters[j], nil, 0)
}

func (s *world) released(i int) error {
	mode := s.calls[i].breed.kind.Mode()
	s.queue.RefuseFirst(mode)
	if w := s.queue.first; w != nil && w.Kind.Excludes(mode) {
		s.calls[s.index(w)].told = true
	}
	others := 0
	if s.calls[i].runOver {
		others = 1
	}
	return s.ends(i, others)
}

func (s *world) drops(i int) error { return s.ends(i, 0) }

// ends is the end of a hold.
func (s *world) ends(i, others int) error {
	c := &s.calls[i]
	c.phase, c.holds = gone, false
	s.queue.Unhold(c.breed.kind.Mode())
	s.queue.Released(others, 0)
	return nil
}

// registration is until when a registration may be carried out.
const registration = 7

func (s *world) picks(batch int) error {
	picked := s.queue.Unplaced(batch)
	if s.registrar = 2; len(picked) == 0 {
		s.registrar = 0
	}
	s.batch = s.bits(picked)
	return nil
}

func (s *world) stops(int) error {
	s.queue.EndRegistrar()
	s.registrar = 0
	return nil
}

func (s *world) registers(int) error {
	still := s.queue.Entrants(s.members())
	s.batch = s.bits(still)
	if s.registrar = 3; len(still) == 0 {
		s.registrar = 1
	}
	for _, w := range still {
		i := s.index(w)
		if s.calls[i].phase == gone || s.calls[i].phase == flying || s.calls[i].holds {
			return fmt.Errorf("%d is registered, and is not to be", i)
		}
		s.calls[i].trace, s.calls[i].entry = true, true
	}
	return nil
}

func (s *world) registered(unknown bool, next int) error {
	tickets := make([]int64, most)
	for i := range tickets {
		tickets[i] = 1
	}
	members, late := s.members(), int64(0)
	if unknown {
		tickets, late = nil, registration
		for _, w := range members {
			s.calls[s.index(w)].late = true
		}
	}
	left := s.queue.Registered(members, tickets, late)
	for _, w := range members {
		if at := slices.Index(left, w.ID); (at >= 0) != (w.state == Left) {
			return fmt.Errorf("%v left during their registration, and %d is %v", left, s.index(w), w.state)
		}
		if w.state == Left {
			s.calls[s.index(w)].entry = false
		}
	}
	if !unknown {
		s.queue.Stands(int64(next), 0)
		s.next = next > 0
	}
	s.registrar, s.batch = 1, 0
	return nil
}

func (s *world) bits(waiters []*Waiter) (bits uint8) {
	for _, w := range waiters {
		bits |= 1 << s.index(w)
	}
	return bits
}

func (s *world) members() (members []*Waiter) {
	for i := range s.calls[:s.n] {
		if s.batch&(1<<i) != 0 {
			members = append(members, &s.waiters[i])
		}
	}
	return members
}

var errStuck = errors.New("nobody can go on")

// tidy drops what the queue need not remember, as its owner does.
func (s *world) tidy() {
	switch q := &s.queue; {
	case !q.Empty():
	case q.holds.total() == 0:
		*q = Queue{}
		s.next = false
	case q.Idle():
		q.Forget()
		s.next = false
	}
}

// over reports that all calls have ended.
func (s *world) over() bool {
	for i := range s.calls[:s.n] {
		if s.calls[i].phase != gone {
			return false
		}
	}
	return s.registrar == 0
}
