package latch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
)

// faults are what happens to one request of a script.
var faults = map[string]func(gate *faultproxy.Gate) faultproxy.Action{
	"the reply is lost":        func(*faultproxy.Gate) faultproxy.Action { return faultproxy.DropReply },
	"cut instead of the reply": func(*faultproxy.Gate) faultproxy.Action { return faultproxy.CutAfter },
	"cut before":               func(*faultproxy.Gate) faultproxy.Action { return faultproxy.CutBefore },
	"cut in the reply":         func(*faultproxy.Gate) faultproxy.Action { return faultproxy.CutReplyAt(7) },
	"the request is lost":      func(*faultproxy.Gate) faultproxy.Action { return faultproxy.DropRequest },
	"two copies":               func(*faultproxy.Gate) faultproxy.Action { return faultproxy.Duplicate },
	"a copy comes late":        faultproxy.DuplicateLater,
	"the request comes late":   faultproxy.Late,
	"the reply comes late":     faultproxy.HoldReply,
	"the request is held back": faultproxy.HoldRequest,
	"an unknown status": func(*faultproxy.Gate) faultproxy.Action { // defect F5
		return faultproxy.Answer([]byte("*3\r\n:9\r\n:0\r\n:0\r\n"))
	},
}

// underFaults runs an operation under each fault, has something else happen, and lets come what was held
// back. Each counts once.
func underFaults(
	t *testing.T, script string, start int64, op func(l *latch.Latch, ctx context.Context) error,
	after func(l *lab), want int64,
) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, server, time.Second)
			if start > 0 {
				require.NoError(t, l.other.Set(t.Context(), start))
			}
			gate := faultproxy.NewGate()
			t.Cleanup(gate.Open)
			rule := l.proxy.On(faultproxy.Script(luacall.SHA(script)), fault(gate))
			require.NoError(t, op(l.latch, l.bounded()))
			after(l)
			rule.Wait(t, 1)
			gate.Open()
			l.quietly()
			l.is(want)
		})
	}
}

// Interleaving 6: a count that is taken off twice would open the latch too early.
func TestACountDownUnderFaultsCountsOnce(t *testing.T) {
	underFaults(t, "latch_down", 5, (*latch.Latch).CountDown, func(l *lab) {
		l.is(4)
		require.NoError(l, l.other.CountDown(l.Context()))
	}, 3)
}

func TestTheLastCountDownUnderFaultsTouchesNoLaterCount(t *testing.T) {
	underFaults(t, "latch_down", 1, (*latch.Latch).CountDown, func(l *lab) {
		l.is(0)
		require.NoError(l, l.other.Set(l.Context(), 7))
	}, 7)
}

func TestASetUnderFaultsStartsOneCount(t *testing.T) {
	underFaults(t, "latch_set", 0, func(l *latch.Latch, ctx context.Context) error {
		return l.Set(ctx, 2)
	}, func(l *lab) {
		l.is(2)
		require.NoError(l, l.other.CountDown(l.Context()))
		require.NoError(l, l.other.CountDown(l.Context()))
	}, 0)
}

func TestADeletionUnderFaultsTouchesNoLaterCount(t *testing.T) {
	underFaults(t, "latch_down", 3, (*latch.Latch).Delete, func(l *lab) {
		l.is(0)
		require.NoError(l, l.other.Set(l.Context(), 4))
	}, 4)
}

func TestAWaitUnderFaultsEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, server, time.Second)
			require.NoError(t, l.other.Set(t.Context(), 1))
			gate := faultproxy.NewGate()
			t.Cleanup(gate.Open)
			rule := l.proxy.On(faultproxy.Nth(3, faultproxy.Script(luacall.SHA("latch_wait"))), fault(gate))
			waits := l.waits(l.bounded(), l.latch, 3)
			rule.Wait(t, 1) // by a poll
			nothingYet(t, waits, "the count is still running")
			require.NoError(t, l.other.CountDown(t.Context()))
			gate.Open()
			l.open(waits)
		})
	}
}

// Bugs of Redisson's: a lost message is a wait without end.
func TestWaitsSurviveLostMessages(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, 200*time.Millisecond)
	require.NoError(t, l.latch.Set(t.Context(), 2))
	l.proxy.SwallowMessages(true)
	waits := l.waits(l.bounded(), l.latch, 5)
	require.NoError(t, l.other.CountDown(t.Context()))
	require.NoError(t, l.other.CountDown(t.Context()))
	l.open(waits)
}

// A subscription that breaks is made anew, and its waiters look at once.
func TestWaitsSurviveALostSubscription(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, time.Hour)
	require.NoError(t, l.latch.Set(t.Context(), 1))
	waits := l.waits(l.bounded(), l.latch, 5)
	l.proxy.Refuse(true)
	l.proxy.CutAll()
	require.NoError(t, l.other.CountDown(t.Context()), "nobody hears of it")
	l.proxy.Refuse(false)
	l.open(waits)
}

func TestWaitsSurviveARestartThatKeepsTheData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	l := newLab(t, server, 100*time.Millisecond)
	require.NoError(t, l.latch.Set(t.Context(), 2))
	waits := l.waits(l.bounded(), l.latch, 5)
	server.Kill()
	server.Restart()
	require.NoError(t, l.other.CountDown(l.bounded()))
	nothingYet(t, waits, "the count is still running")
	l.is(1)
	require.NoError(t, l.other.CountDown(l.bounded()))
	l.open(waits)
}

// Absent means zero: there is no telling a latch that was opened from one that was lost.
func TestLostDataReadsAsOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := newLab(t, server, 100*time.Millisecond)
	require.NoError(t, l.latch.Set(t.Context(), 2))
	waits := l.waits(l.bounded(), l.latch, 3)
	server.Kill()
	server.Restart()
	l.open(waits)
}
