package watchdog

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// manualClock is a pair of system clocks that stand until they are moved.
type manualClock struct {
	mono, wall atomic.Int64
	reads      atomic.Int64
}

func (m *manualClock) read() (mono, wall time.Duration) {
	m.reads.Add(1)
	return time.Duration(m.mono.Load()), time.Duration(m.wall.Load())
}

func (m *manualClock) advance(d time.Duration) {
	m.mono.Add(int64(d))
	m.wall.Add(int64(d))
}

// suspendableClock goes with the bubble's time and can be made to look as if the
// machine had been suspended.
type suspendableClock struct {
	base      time.Time
	suspended atomic.Int64
	reads     atomic.Int64
}

func newSuspendableClock() (*suspendableClock, *Clock) {
	s := &suspendableClock{base: time.Now()}
	return s, newClock(s.read, unknown)
}

func (s *suspendableClock) read() (mono, wall time.Duration) {
	s.reads.Add(1)
	mono = time.Since(s.base)
	return mono, mono + time.Duration(s.suspended.Load())
}

func (s *suspendableClock) suspend(d time.Duration) { s.suspended.Add(int64(d)) }

// stepper is a wheel without its goroutine, whose clock stands at what happens
// next: years of ticks in microseconds.
type stepper struct {
	*Wheel
	manual *manualClock
}

func newStepper(tick time.Duration) *stepper {
	manual := &manualClock{}
	w := NewWheel(newClock(manual.read, unknown), tick)
	w.started = true
	return &stepper{Wheel: w, manual: manual}
}

func (s *stepper) moveTo(at time.Duration) {
	if now := time.Duration(s.manual.mono.Load()); at > now {
		s.manual.advance(at - now)
	}
}

// runUntil does what the goroutine does, but sleeps as long as nothing happens
// instead of for maxNap. It ends when nothing happens until the given instant.
func (s *stepper) runUntil(end time.Duration) {
	for {
		fire, arg, _ := s.next()
		if fire != nil {
			fire(arg)
			continue
		}
		tick, ok := s.upcomingLocked()
		if !ok || time.Duration(tick)*s.tick > end {
			s.moveTo(end)
			return
		}
		s.moveTo(time.Duration(tick) * s.tick)
	}
}

// probe is a timer that records what it was called for.
type probe struct {
	timer Timer
	id    int
	clock *Clock
	at    time.Duration // what it was last scheduled for
	then  func(p *probe)

	mu  sync.Mutex
	log []time.Duration // guarded by mu
}

func newProbe(clock *Clock, id int) *probe {
	p := &probe{clock: clock, id: id}
	p.timer.Init(fireProbe, p)
	return p
}

func fireProbe(arg any) {
	p := arg.(*probe)
	p.mu.Lock()
	p.log = append(p.log, p.clock.Now())
	p.mu.Unlock()
	if p.then != nil {
		p.then(p)
	}
}

func (p *probe) fired() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

func (p *probe) schedule(w *Wheel, at time.Duration) {
	p.at = at
	w.Schedule(&p.timer, at)
}
