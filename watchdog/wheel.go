package watchdog

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

const (
	levels = 4
	// A slot of a level is as long as 256 of the level below, and each level
	// has twice as many: those of the current turn, and those of the next one,
	// into which a slot of the level above can be sorted before it is reached.
	slotBits = 8
	slots    = 2 << slotBits
	slotMask = slots - 1
	// horizon is the number of ticks that the wheel distinguishes: 994 days
	// with ticks of 10 ms. A timer beyond it waits in the farthest slot and is
	// sorted from there.
	horizon = slots << ((levels - 1) * slotBits)
)

// slotOf returns the slot at a position, counted in slots of that level.
func slotOf(level int, position uint64) uint16 {
	return uint16(level*slots) | uint16(position&slotMask)
}

// Timer is one entry of a [Wheel]. Embed it in the object that it wakes, or
// make it a field: arming it allocates nothing. It must be initialised with
// [Timer.Init], must not be copied after that, and belongs to one wheel.
type Timer struct {
	next, prev *Timer // guarded by Wheel.mu; nil while not armed
	at         place  // guarded by Wheel.mu
	fire       func(arg any)
	arg        any
}

// place is the tick that a timer is armed for, and in the lowest bits the slot that it is in: there is a timer for each
// hold, and apart they would take 8 bytes more of each. A tick that does not fit in the rest is 285 years away even
// with ticks of a microsecond, and counts as one that does.
type place uint64

const (
	placeBits = 11 // of a slot
	lastTick  = math.MaxUint64 >> placeBits
)

var _ [1<<placeBits - levels*slots]struct{} // slots fit

func placeOf(tick uint64, slot uint16) place {
	return place(min(tick, lastTick)<<placeBits | uint64(slot))
}

func (p place) tick() uint64 { return uint64(p) >> placeBits }
func (p place) slot() uint16 { return uint16(p & (1<<placeBits - 1)) }

// Init sets the timer's function. It must not be called while the timer is
// armed. A package-level function with a pointer as arg needs no allocation,
// unlike a closure.
func (t *Timer) Init(fire func(arg any), arg any) {
	t.fire, t.arg = fire, arg
}

// rack holds the slots of all levels. A slot is a ring of timers in order of
// arrival, stored as its first one. The zero value is empty.
type rack struct {
	heads    [levels * slots]*Timer
	occupied [levels]occupancy
}

func (r *rack) add(t *Timer, slot uint16) {
	t.at = placeOf(t.at.tick(), slot)
	head := r.heads[slot]
	if head == nil {
		t.next, t.prev = t, t
		r.heads[slot] = t
		r.occupied[slot/slots].set(slot & slotMask)
		return
	}
	t.next, t.prev = head, head.prev
	head.prev.next = t
	head.prev = t
}

func (r *rack) remove(t *Timer) {
	slot := t.at.slot()
	if t.next == t {
		r.heads[slot] = nil
		r.occupied[slot/slots].clear(slot & slotMask)
	} else {
		t.prev.next, t.next.prev = t.next, t.prev
		if r.heads[slot] == t {
			r.heads[slot] = t.next
		}
	}
	t.next, t.prev = nil, nil
}

// occupancy records which slots of a level are not empty.
type occupancy [slots / 64]uint64

func (o *occupancy) set(i uint16)   { o[i/64] |= 1 << (i % 64) }
func (o *occupancy) clear(i uint16) { o[i/64] &^= 1 << (i % 64) }

// after returns how many slots further on than i the next occupied one is:
// 1 to 512, where 512 is i itself.
func (o *occupancy) after(i uint16) (distance uint64, ok bool) {
	from := (i + 1) & slotMask
	word := from / 64
	if rest := o[word] >> (from % 64); rest != 0 {
		return uint64(bits.TrailingZeros64(rest)) + 1, true
	}
	passed := 64 - uint64(from%64)
	for range o {
		word = (word + 1) % uint16(len(o))
		if o[word] != 0 {
			return passed + uint64(bits.TrailingZeros64(o[word])) + 1, true
		}
		passed += 64
	}
	return 0, false
}

const (
	defaultTick = 10 * time.Millisecond
	// maxNap bounds a sleep while anything is armed. The runtime's timers stand still in a
	// suspended machine, so only reading the clock shows that instants have passed meanwhile.
	maxNap = time.Second
)

// Wheel calls functions at given instants of a [Clock]. It rounds down: a timer scheduled for
// an instant fires at the beginning of that instant's tick, up to one tick early and never late
// by design.
//
// Arming, cancelling and firing a [Timer] take constant time and no allocation, however many
// are armed. A Wheel has one goroutine, from the first Schedule until Close. It sleeps until a
// timer is due; while none is armed it wakes once or twice after a moment, and then not at all. All
// methods are safe for concurrent use.
type Wheel struct {
	clock *Clock
	tick  time.Duration

	wake    chan struct{} // of capacity 1: a wake-up is kept, not counted
	running sync.WaitGroup

	mu      sync.Mutex // guards everything below, and the links of all timers
	rack    rack
	current uint64 // the tick that the wheel stands at; its slot is due
	wakeAt  uint64 // a timer before this tick must end the sleep; 0: awake
	early   uint64 // the tick for which a sleep was last ended
	armed   int
	empty   bool // nothing was armed when the sleep began, nor since
	started bool
	closed  bool
}

// NewWheel returns a wheel that follows clock, in steps of tick (10 ms if tick is not
// positive). Close must be called to end its goroutine.
func NewWheel(clock *Clock, tick time.Duration) *Wheel {
	if tick <= 0 {
		tick = defaultTick
	}
	return &Wheel{
		clock: clock,
		tick:  tick,
		wake:  make(chan struct{}, 1),
	}
}

// Tick returns the length of the wheel's steps.
func (w *Wheel) Tick() time.Duration { return w.tick }

// Schedule arms t: its function is called at the instant at of the wheel's clock, or up to one
// tick earlier; at once if at has passed. If t is armed, it is rescheduled. After Close,
// Schedule does nothing.
//
// The function is called on the wheel's goroutine, without the wheel's lock. It may call
// Schedule and Cancel, also for its own timer. It must be quick, because all other timers wait
// for it. It must not call Close. Timers of one tick are called in no
// particular order, except that a timer that another timer's function schedules for the past is
// called after all that are due in this tick.
func (w *Wheel) Schedule(t *Timer, at time.Duration) {
	if t.fire == nil {
		panic("watchdog: Schedule needs a Timer that Init has set up")
	}
	tick := w.tickOf(at)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if t.next != nil {
		w.rack.remove(t)
		w.armed--
	}
	if w.armed == 0 {
		// An idle wheel does not turn. If current were out of date, t would be sorted into a
		// coarser level than necessary.
		w.current = max(w.current, w.tickOf(w.clock.Now()))
	}
	t.at = placeOf(tick, 0)
	w.placeLocked(t)
	w.armed++
	w.empty = false
	if !w.started {
		w.started = true
		w.running.Go(w.turn)
		return
	}
	// A timer not earlier than the sleep's end needs no wake-up, even if a level has to be
	// sorted before that: sorting can be late.
	if tick < w.wakeAt {
		w.wakeAt, w.early = 0, tick
		w.signal()
	}
}

// Cancel disarms t and reports whether it was armed, in which case its function
// is not called. If not, the function may be running at this moment.
func (w *Wheel) Cancel(t *Timer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.next == nil {
		return false
	}
	w.rack.remove(t)
	w.armed--
	return true
}

// Len returns the number of armed timers.
func (w *Wheel) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed
}

// Close ends the wheel and waits for its goroutine: no function is called after it returned.
// It must not be called from a timer's function, because it would wait for itself. Further
// calls wait as well and change nothing.
func (w *Wheel) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	w.running.Wait()
}

func (w *Wheel) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // one is pending, and everything is checked after it
	}
}

// tickOf rounds down. That is the promise of the whole package: a timer for an instant fires
// before it.
func (w *Wheel) tickOf(at time.Duration) uint64 {
	return uint64(max(at, 0) / w.tick)
}

// turn calls due timers until the wheel is closed.
func (w *Wheel) turn() {
	alarm := time.NewTimer(maxNap)
	defer alarm.Stop()
	for {
		fire, arg, nap := w.next()
		switch {
		case fire != nil:
			fire(arg)
			continue
		case nap == 0:
			return
		case nap > 0:
			alarm.Reset(nap)
		default:
			alarm.Stop()
		}
		select {
		case <-w.wake:
		case <-alarm.C:
		}
	}
}

// next removes the next timer that is due. If there is none, fire is nil and nap is how long to
// sleep: 0 means that the wheel is closed, less than 0 until something is scheduled.
//
// Finding nothing due and setting wakeAt happen under one lock: a timer scheduled after that
// sees wakeAt and signals.
func (w *Wheel) next() (fire func(arg any), arg any, nap time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, 0
	}
	w.wakeAt = 0
	if w.armed == 0 {
		return nil, nil, w.restLocked()
	}
	if w.dueLocked() == nil {
		now := w.clock.Now()
		for w.dueLocked() == nil {
			switch {
			case w.turnLocked(w.tickOf(now)):
			case w.sortAheadLocked():
				return pause, nil, 0
			default:
				return nil, nil, w.napLocked(now)
			}
		}
	}
	t := w.dueLocked()
	w.rack.remove(t)
	w.armed--
	return t.fire, t.arg, 0
}

// restLocked returns how long to sleep while nothing is armed. The sleep is unlimited only if
// nothing was armed during a whole nap: where timers come and go one by one, each would
// otherwise have to wake the wheel.
func (w *Wheel) restLocked() time.Duration {
	if w.empty {
		w.wakeAt = math.MaxUint64
		return -1
	}
	now := w.clock.Now()
	if w.early <= w.tickOf(now) { // else the next sleep is the whole nap
		w.empty = true
	}
	w.wakeAt = w.tickOf(now+maxNap) + 1 // as in napLocked
	return w.soonerLocked(now, now+maxNap) - now
}

// soonerLocked is the end of a sleep that may last until an instant: the tick for which the last one was ended, if that
// is to come. The timer may have been cancelled since, as one is that guards something short, and the next such timer
// would end the sleep again. Arming and cancelling it a hundred thousand times in a second so wakes the wheel once in
// each of its ticks, and not a hundred thousand times: a wake-up costs a system call and another thread.
func (w *Wheel) soonerLocked(now, until time.Duration) time.Duration {
	if w.early > w.tickOf(now) && w.early < w.wakeAt {
		w.wakeAt = w.early
		return time.Duration(w.early) * w.tick
	}
	return until
}

// pause does nothing; calling it releases the lock, and the clock is read again after it.
func pause(any) {}

// dueLocked returns the next timer of the current tick.
func (w *Wheel) dueLocked() *Timer { return w.rack.heads[w.current&slotMask] }

// napLocked returns how long nothing is due, and records the end of that sleep.
func (w *Wheel) napLocked(now time.Duration) time.Duration {
	until := now + maxNap
	w.wakeAt = w.tickOf(until) + 1 // that tick has begun by then
	if next, ok := w.upcomingLocked(); ok && next < w.wakeAt {
		until, w.wakeAt = time.Duration(next)*w.tick, next
	}
	return w.soonerLocked(now, until) - now
}

// chunk is how many timers are sorted ahead while the lock is held once. It
// bounds how long that delays a Schedule, a Cancel or a timer that is due.
const chunk = 256

// upcomingLocked returns the next tick at which there is something to do: a slot
// of the lowest level is due, or one of a higher level may or must be sorted.
// The slot of the current tick must be empty.
//
// The position of a level is the current tick in units of its slots. A slot of a
// higher level may be sorted into the lower ones as soon as it is the next one,
// because they reach two of its lengths ahead, and must be sorted once it is the
// current one. That leaves time to sort it in chunks. Sorting it at once would,
// for a slot of 300,000 timers, make all others late by several ticks.
func (w *Wheel) upcomingLocked() (tick uint64, ok bool) {
	for level := range levels {
		shift := level * slotBits
		position := w.current >> shift
		distance, occupied := w.rack.occupied[level].after(uint16(position & slotMask))
		if !occupied {
			continue
		}
		if level > 0 && distance > 1 {
			distance-- // it may be sorted one slot ahead
		}
		if at := (position + distance) << shift; !ok || at < tick {
			tick, ok = at, true
		}
	}
	return tick, ok
}

// turnLocked advances the wheel to the next tick at which there is something to
// do, and reports whether that is not after now. Ticks in between cost nothing,
// so a clock that jumped by days costs nothing either.
func (w *Wheel) turnLocked(now uint64) bool {
	tick, ok := w.upcomingLocked()
	if !ok || tick > now {
		w.current = max(w.current, now)
		return false
	}
	w.current = tick
	// In any order: sorting moves a timer to its place in one step.
	for level := 1; level < levels; level++ {
		if shift := level * slotBits; tick&(1<<shift-1) == 0 {
			for w.sortLocked(level, tick>>shift) {
			}
		}
	}
	return true
}

// sortAheadLocked sorts a chunk of a slot that may be sorted, and reports
// whether there was one.
func (w *Wheel) sortAheadLocked() bool {
	for level := 1; level < levels; level++ {
		if w.sortLocked(level, w.current>>(level*slotBits)+1) {
			return true
		}
	}
	return false
}

// sortLocked moves a chunk of the slot at position, the current one of its level
// or the next, to the right place: a lower level, or the far end of the highest,
// but never the slot that it is taken from.
func (w *Wheel) sortLocked(level int, position uint64) bool {
	slot := slotOf(level, position)
	for n := range chunk {
		t := w.rack.heads[slot]
		if t == nil {
			return n > 0
		}
		w.rack.remove(t)
		w.placeLocked(t)
	}
	return true
}

// placeLocked puts t into the finest level that reaches as far as its tick. A
// timer that is due goes into the slot of the current tick, which is emptied
// before the wheel advances.
func (w *Wheel) placeLocked(t *Timer) {
	tick := max(t.at.tick(), w.current)
	for level := range levels {
		shift := level * slotBits
		if position := tick >> shift; position-w.current>>shift < slots {
			w.rack.add(t, slotOf(level, position))
			return
		}
	}
	const top = levels - 1
	w.rack.add(t, slotOf(top, w.current>>(top*slotBits)+slots-1))
}
