package watchdog

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
