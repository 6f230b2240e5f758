package faulttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

// onceMoment is when a copy that was kept back is delivered.
type onceMoment int

const (
	whileNested onceMoment = iota // the hold under test has another level by now
	whileAlone                    // and has left that again
	whenFree                      // it was unlocked, and nobody holds
	underOwn                      // the same client holds again
	underRival                    // another client holds
	never
)

var onceMoments = map[onceMoment]string{
	whileNested: "while nested", whileAlone: "after nesting", whenFree: "after unlock",
	underOwn: "under the client's next hold", underRival: "under another's hold",
}

// onceFault is what happens to the one script call that is under test.
type onceFault struct {
	name   string
	action func(gates onceGates) faultproxy.Action
	times  int
	when   []onceMoment // one gate each

	// late: a copy is carried out that was given up before. If it is an acquisition, it may make a hold
	// of nobody, which is reclaimed.
	late bool
}

type onceGates map[onceMoment]*faultproxy.Gate

func onceAlways(a faultproxy.Action) func(onceGates) faultproxy.Action {
	return func(onceGates) faultproxy.Action { return a }
}

// onceLate loses the request, or cuts the connection at it, and delivers a copy of it at every gate.
func onceLate(lose faultproxy.Action) func(onceGates) faultproxy.Action {
	return func(gates onceGates) faultproxy.Action {
		return func(x *faultproxy.Exchange) {
			for _, gate := range gates {
				faultproxy.Late(gate)(x)
			}
			lose(x)
		}
	}
}

// onceFaults are the faults for an operation after which the lock is held or not.
func onceFaults(held bool) []onceFault {
	when := []onceMoment{whileNested, whileAlone, whenFree, underOwn, underRival}
	if !held {
		when = when[2:]
	}
	faults := []onceFault{
		{name: "reply lost", action: onceAlways(faultproxy.DropReply), times: 1},
		{name: "cut after", action: onceAlways(faultproxy.CutAfter), times: 1},
		{name: "cut after, three times", action: onceAlways(faultproxy.CutAfter), times: 3},
		{name: "cut before", action: onceAlways(faultproxy.CutBefore), times: 1},
		{name: "request lost", action: onceAlways(faultproxy.DropRequest), times: 1},
		{name: "sent twice in a row", action: onceAlways(faultproxy.Duplicate), times: 1},
		{name: "reply late", times: 1, when: []onceMoment{underRival},
			action: func(g onceGates) faultproxy.Action { return faultproxy.HoldReply(g[underRival]) }},
		{name: "late, given up after the limit", times: 1, when: when, late: true,
			action: onceLate(faultproxy.DropRequest)},
		{name: "late, given up at once", times: 1, when: when, late: true,
			action: onceLate(faultproxy.CutBefore)},
	}
	for _, moment := range when {
		faults = append(faults, onceFault{
			name: "again " + onceMoments[moment], times: 1, when: []onceMoment{moment},
			action: func(g onceGates) faultproxy.Action { return faultproxy.DuplicateLater(g[moment]) },
		})
	}
	return faults
}

// onceShot is a fault that is set up for the next call of a script.
type onceShot struct {
	fault onceFault
	rule  *faultproxy.Rule
	gates onceGates
}

func (l *onceLab) inject(fault onceFault, sha string) *onceShot {
	s := &onceShot{fault: fault, gates: onceGates{}}
	for _, moment := range fault.when {
		s.gates[moment] = faultproxy.NewGate()
	}
	s.rule = l.proxy.On(faultproxy.Script(sha), fault.action(s.gates)).Times(fault.times)
	return s
}

// struck waits until the fault has happened, as often as it should.
func (s *onceShot) struck(t testing.TB) {
	t.Helper()
	s.rule.Wait(t, s.fault.times)
}

// deliver lets the copy through that was kept back until this moment, if there is one, and waits until
// Redis has carried it out.
func (s *onceShot) deliver(t testing.TB, moment onceMoment) {
	t.Helper()
	gate := s.gates[moment]
	if gate == nil {
		return
	}
	gate.Open()
	if s.fault.name == "reply late" { // its connection may be gone, then there is nothing to wait for
		return
	}
	select {
	case <-gate.Delivered():
	case <-time.After(oncePatience):
		require.Fail(t, "the copy was not delivered")
	}
}
