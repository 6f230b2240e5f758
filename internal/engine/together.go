package engine

import "errors"

// errBehind says that a waiter that Redis refused goes back into the line: somebody before it was refused
// as well, and asks for both.
var errBehind = errors.New("somebody before it waits")

func crowds(p Protocol) bool {
	_, ok := p.(Crowder)
	return ok
}

// blocks reports whether w is in the way of those who follow it: always, but for one of several that may
// ask at a time, and then from when Redis told it to wait.
func (w *waiter) blocks() bool { return w.refused || !crowds(w.req.Proto) }

// refuse notes that Redis told w to wait. From now on those who come later stand behind it. Of those who
// asked at one time and were all refused, the first goes on asking. Refuse reports whether that is another
// than w, which then is back in the line.
func (t *table) refuse(w *waiter) (behind bool) {
	if !crowds(w.req.Proto) {
		return false
	}
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.place != leading || !w.listed {
		return false
	}
	r := p.row(w.req.Proto.Key())
	r.line.refuse(w)
	for other := r.first(); other != w; other = other.next {
		if other.refused && w.req.Proto.Follows(other.req.Proto.Mode()) {
			r.stepBack(w)
			return true
		}
	}
	for other := w.next; other != nil; other = other.next {
		if other.refused && other.place == leading && other.req.Proto.Follows(w.req.Proto.Mode()) {
			r.stepBack(other) // it finds out before it asks again
			break             // there is one at most
		}
	}
	return false
}

// stepBack has one that asked stand in line again. Row's part is locked.
func (r *row) stepBack(w *waiter) {
	w.place, r.line.calm = queued, false
	if w.notify == nil {
		w.notify = make(chan struct{}, 1)
	}
}

// isBehind reports whether w, which was leading, is back in the line.
func (t *table) isBehind(w *waiter) bool {
	if !crowds(w.req.Proto) {
		return false
	}
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.place == queued
}

// steppedBack reports whether the leader is to go back into the line. One of whose requests the fate is
// unknown stays and finds out.
func (l *leader) steppedBack(refused bool) bool {
	if l.doubt.any || l.once || l.gang != nil {
		return false
	}
	if refused && l.engine.table.refuse(l.waiter) {
		return true
	}
	return l.engine.table.isBehind(l.waiter)
}
