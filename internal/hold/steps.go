package hold

import (
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// countPause is how long the store may have a wrong count before it is told, if it answers.
const countPause = Tick

// steps is what is known of the count in the store. It goes on from Hold to Hold. A grant that was never nested has
// none. It is guarded by the mutex of the key.
//
// A nested Lock concerns this process alone: the outermost Lock decided the lease, and the levels are counted here. So
// neither a nested Lock nor its unlock waits for the store. The count in the store, where there is one, is for those
// who look. It is told behind the calls, and only if it still differs some milliseconds later: a short level costs no
// request.
//
// What the store is told is a step: from the count that stands to the count that is wanted. The store makes it only if
// that count does stand, and answers what stands then, from which the next step starts. One step of a hold is under way
// at a time, and a grant that waits for the answer to one is not passed on in memory.
//
// For example, "from 1 to 2" is sent and its answer is lost. The level is unlocked meanwhile, so "from 1 to 1" is sent
// next, which changes nothing and is answered "2"; and then "from 2 to 1". A copy of the first step that comes only now
// finds a 1, and makes it 2 once more. That is the worst that a late copy does: the count is wrong, until the next step
// is answered "2" and corrects it, or the hold ends. Nobody decides anything by it. The hold ends whatever count
// stands, and where the hold is gone a step finds nothing and writes nothing.
//
// A step that the store refuses, as Redis does where the user has no right to HINCRBY, counts as told: it is not sent
// again and again, and does not keep the hold from passing on. The next change of the count tries anew.
type steps struct {
	timer watchdog.Timer // tells the count
	phase stepPhase
	doubt bool  // the last step was not answered
	known int32 // the count that the store answered last
	pause time.Duration
}

type stepPhase uint8

const (
	quiet stepPhase = iota
	due             // the timer is armed
	sent            // a step is under way
)

// wantedLocked is the count that the store is to have: the levels of the one Hold, which has none for a moment when it
// is passed on.
func (g *Grant) wantedLocked() int32 { return max(g.levelsLocked(), 1) }

// settledLocked reports that no step is unanswered.
func (g *Grant) settledLocked() bool {
	return g.steps == nil || g.steps.phase != sent && !g.steps.doubt
}

// followLocked lets the wheel tell the count soon, if the store has another one or may have.
func (g *Grant) followLocked() {
	if s := g.steps; s != nil && s.phase == quiet && g.lagsLocked() {
		s.phase = due
		s.timer.Init(func(arg any) { arg.(*Grant).follow() }, g)
		g.host.Wheel.Schedule(&s.timer, g.host.Clock.Now()+s.pause)
	}
}

// lagsLocked reports that the count is to be told.
func (g *Grant) lagsLocked() bool {
	s := g.steps
	return g.state == stands && (s.doubt || s.known != g.wantedLocked())
}

// follow is called by the wheel.
func (g *Grant) follow() {
	g.mu.Lock()
	s := g.steps
	if !g.lagsLocked() {
		s.phase = quiet
		g.mu.Unlock()
		return
	}
	s.phase = sent
	from, to := s.known, g.wantedLocked()
	g.mu.Unlock()
	g.host.Count(g, from, to)
}

// Counted notes what stands in the store after a step was answered; 0 means that the grant is gone.
func (g *Grant) Counted(stands int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.steps
	s.phase, s.doubt = quiet, false
	if stands > 0 {
		s.known, s.pause = stands, countPause
		g.followLocked()
	}
}

// CountUnknown notes that a step was not answered. The next one is sent after a pause that grows to longest.
func (g *Grant) CountUnknown(longest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.steps
	s.phase, s.doubt = quiet, true
	s.pause = min(2*s.pause, longest)
	g.followLocked()
}
