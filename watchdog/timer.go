package watchdog

import (
	"math"
	"math/bits"
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
