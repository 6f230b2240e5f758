package crashpoints_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// lab is one pair: its server, its subject, its rival, and what is known so far.
type lab struct {
	t      *testing.T
	on     string // the site's name
	point  crash.Point
	action action
	course course
	lease  time.Duration // the subject's
	site   site
	server server
	rival  *rival

	subject *role.Process

	reports []report
	passed  map[crash.Point]int
	fired   int
	killed  time.Duration // when the server was
	down    time.Duration // for how long it was away
	stood   time.Duration // for how long the subject stood still until the parent had done its part
	gone    time.Duration // when the subject had ended
	cut     int           // connections that listened
}

func newLab(t *testing.T, on string, p crash.Point, a action) *lab {
	t.Helper()
	l := &lab{
		t: t, on: on, site: sites[on], point: p, action: a, course: courseTo(p), passed: make(map[crash.Point]int),
	}
	l.lease = a.lease(l.course.scenario, l.site)
	l.server = l.site.start(t, a)
	l.rival = l.newRival("rival")
	return l
}

// run follows the pair until the subject has ended.
func (l *lab) run() {
	l.t.Helper()
	if l.course.scenario == waiting {
		var err error
		l.rival.first, err = l.rival.enter(l.t.Context(), patience)
		require.NoError(l.t, err)
		require.NotNil(l.t, l.rival.first)
	}
	l.subject = subjects.Start(l.t, orders{
		Site: l.on, Addr: l.server.addr(), Point: l.point, Passing: l.course.passing, Action: l.action,
		Scenario: l.course.scenario, Lease: l.lease,
	})
	for end := time.Now().Add(patience); ; {
		line, err := l.subject.Next(time.Until(end))
		ended := errors.Is(err, role.ErrEnded)
		if err != nil && !ended {
			l.stuck()
		}
		var r report
		if !ended && json.Unmarshal([]byte(line), &r) != nil {
			r = report{Kind: "nonsense", Text: line}
		}
		if ended || r.Kind == done {
			l.gone = stamp.Now()
			require.Equal(l.t, l.action == kill, ended, "whether it lived to the end; last words: %s", l.last(8))
			return
		}
		l.hear(r)
	}
}

// stuck gives up on the subject, and makes it print the stacks of its goroutines.
func (l *lab) stuck() {
	l.t.Helper()
	l.subject.Abort(slack)
	l.t.Fatalf("the subject is stuck; its words: %s", l.last(400))
}

// last are the newest reports, as text.
func (l *lab) last(n int) string {
	text, _ := json.Marshal(l.reports[max(0, len(l.reports)-n):])
	return string(text)
}

func (l *lab) hear(r report) {
	l.reports = append(l.reports, r)
	switch r.Kind {
	case passed:
		// Only a message wakes a waiter that was told "busy" after it had subscribed.
		l.passed[r.Point]++
		if l.point == crash.Wake && r.Point == crash.Acquire.Reply && l.passed[l.site.subscribed()] > 0 {
			l.release()
		}
	case fired:
		l.fired++
		if l.fired == 1 {
			l.checkKey()
			l.release()
			l.rival.contend()
			l.strike()
			l.stood = stamp.Now() - r.At
		}
	}
}

// release ends the rival's first hold, and lets the rival contend from then on.
func (l *lab) release() {
	if st := l.rival.first; st != nil {
		l.rival.first = nil
		st.leave()
		l.rival.count(st.unlock())
	}
}

// checkKey makes sure that the strike happens in the intended state: that the lock exists or does not. That can be
// checked only while the subject stands still. The server may be behind: on a busy machine a subject comes to the reply
// of a release when there was no answer in time.
func (l *lab) checkKey() {
	l.t.Helper()
	switch l.action {
	case empty, restart, deafen, forget:
		if l.point == crash.Disowned.Reply && l.on == "postgres" {
			return // it may still be held: the transaction of the acquisition had the row, or there was no answer in time
		}
		held := l.point != crash.Acquire.Send && l.point != crash.Release.Reply && l.point != crash.Disowned.Reply
		redistest.Eventually(l.t, l.patience(), func() bool {
			return held == (l.server.held() || l.point == crash.Wake && l.rival.first == nil)
		}, "the state that is meant")
	}
}

// strike is the parent's part of an action.
func (l *lab) strike() {
	l.t.Helper()
	switch l.action {
	case stop:
		time.Sleep(l.lease * 3 / 2) // the fault itself
		for range 20 {              // the subject may not have stopped until now
			l.subject.Thaw()
			time.Sleep(5 * time.Millisecond)
		}
	case empty, restart:
		back := l.server.restart
		if l.action == empty {
			back = l.server.empty
		}
		back(func() {
			l.killed = stamp.Now()
			l.subject.Say("go")
		})
		l.down = stamp.Now() - l.killed
	case deafen:
		l.cut = l.server.deafen()
		l.subject.Say("go")
	case forget:
		l.server.forget()
		l.subject.Say("go")
	case kill:
		return // no process is left to be told anything
	}
	l.subject.Say("healed")
}
