package holdfasttest

import (
	"testing/synctest"
	"time"
)

// Advance lets d pass.
//
// In a bubble of [synctest] it sleeps, by the bubble's clock, and waits until all other goroutines are blocked.
// Whatever is due in that time happens: time.Sleep(d) of the test's own does the same.
//
// Outside of a bubble it puts the clock of the locks forward, a part of a lease at a time, and waits each time until
// what is due was done: leases end, holds are renewed, fixed leases and MaxHold end, and waiters look whether
// the lock is free by then. The clock of package time stays what it is, so deadlines of contexts, timers and tickers of
// the code under test, and MaxWait, do not come nearer. A test of those belongs in a bubble.
func (l *Lab) Advance(d time.Duration) {
	l.t.Helper()
	if d < 0 {
		l.t.Fatalf("holdfasttest: Advance(%v): time does not go back", d)
	}
	if settled() {
		time.Sleep(d)
		settled()
		return
	}
	l.steps.Lock()
	defer l.steps.Unlock()
	for left := d; left > 0; {
		members := l.all()
		step := left
		for _, m := range members {
			step = min(step, m.lease/8)
		}
		l.forward(members, step)
		left -= step
	}
}

// forward puts the clocks forward, of the store and of all clients at one instant: while it is stopped, no request sees
// the one without the others. A client's context so ends before the store gives its lock to anybody else. A step is
// much shorter than the time from one renewal to the end of the validity that it prolongs.
func (l *Lab) forward(members []*member, step time.Duration) {
	l.t.Helper()
	l.server.Freeze()
	l.server.Forward(step)
	for _, m := range members {
		m.store.Forward(step)
	}
	l.await("contexts end", ending)
	l.server.Thaw()
	if l.wake() {
		<-time.After(time.Millisecond) // so that those who look now are not all too late, by their not-after
	}
	if !l.isFrozen() {
		l.await("holds are renewed", renewing)
	}
}

func renewing(m *member) bool { return m.engine.Renewing() }

// settled waits, in a bubble, until all its other goroutines are blocked, and reports false outside of one.
func settled() (bubble bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != "goroutine is not in a bubble" {
				panic(p)
			}
			bubble = false
		}
	}()
	synctest.Wait()
	return true
}

// await waits until no client is busy with something that takes a moment.
func (l *Lab) await(what string, busy func(m *member) bool) {
	l.t.Helper()
	if settled() {
		return
	}
	for end := time.Now().Add(patience); l.any(busy); <-time.After(20 * time.Microsecond) {
		if time.Now().After(end) {
			l.t.Fatalf("holdfasttest: not within %v: %s", patience, what)
		}
	}
}

func (l *Lab) any(is func(m *member) bool) bool {
	for _, m := range l.all() {
		if is(m) {
			return true
		}
	}
	return false
}
