package semaphore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// loadScripts has Redis know every script, so that none is sent twice for being unknown.
func (l *lab) loadScripts() {
	l.Helper()
	for _, name := range lua.Names() {
		source, _ := lua.Script(name)
		require.NoError(l, l.direct.ScriptLoad(l.Context(), source).Err())
	}
}

// shot is a fault that strikes one request, and what is to come of it later.
type shot struct {
	rule *faultproxy.Rule
	gate *faultproxy.Gate // opened when the operation is over; nil: nothing comes later
}

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

// strike prepares the fault for the next request of a script.
func (l *lab) strike(script string, fault func(*faultproxy.Gate) faultproxy.Action) *shot {
	l.Helper()
	gate := faultproxy.NewGate()
	l.Cleanup(gate.Open)
	return &shot{l.proxy.On(faultproxy.Script(luacall.SHA(script)), fault(gate)), gate}
}

// underFaults runs a test for each fault, on the script's next request.
func underFaults(t *testing.T, script string, test func(l *lab, strike func() *shot)) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, server)
			l.loadScripts()
			test(l, func() *shot { return l.strike(script, fault) })
		})
	}
}

// struck asserts that the fault happened, and lets come what it held back.
func (s *shot) struck(l *lab) {
	l.Helper()
	s.rule.Wait(l, 1)
	s.gate.Open()
}

// quietly waits until whatever may come late has come, or is past its time.
func (l *lab) quietly() {
	l.Helper()
	now := func() time.Time { return l.direct.Time(l.Context()).Val() }
	end := now().Add(labLimit + 100*time.Millisecond)
	redistest.Eventually(l, patience, func() bool { return now().After(end) }, "time passes")
}

func TestAnAcquisitionUnderFaultsTakesOnce(t *testing.T) {
	underFaults(t, "permit_acquire", func(l *lab, strike func() *shot) {
		s := l.leased(5)
		shot := strike()
		held, release, err := s.Acquire(l.bounded(), 2)
		require.NoError(l, err)
		l.sums(3, 2)
		shot.struck(l)
		l.quietly()
		l.sums(3, 2)
		require.NoError(l, held.Err())
		require.NoError(l, release())
		l.soon(5, 0)
	})
}

// The late copy comes when the permits were given back: whatever it takes nobody knows of.
func TestAnAcquisitionThatComesAfterItsReleaseLeavesNothing(t *testing.T) {
	underFaults(t, "permit_acquire", func(l *lab, strike func() *shot) {
		s := l.leased(5)
		shot := strike()
		_, release, err := s.Acquire(l.bounded(), 2)
		require.NoError(l, err)
		require.NoError(l, release())
		if strings.HasSuffix(l.Name(), "a_copy_comes_late") {
			l.quietly() // a caller that was answered at once does not look for copies; the not-after does
		}
		shot.struck(l)
		l.quietly()
		l.soon(5, 0)
	})
}

// bug 3, of permits: the second copy of a release finds nothing, which is no loss and frees no other
// permits.
func TestAReleaseUnderFaultsGivesBackOnce(t *testing.T) {
	underFaults(t, "permit_release", func(l *lab, strike func() *shot) {
		s := l.leased(5)
		_, stays, err := s.Acquire(l.bounded(), 1)
		require.NoError(l, err)
		_, release, err := s.Acquire(l.bounded(), 2)
		require.NoError(l, err)
		shot := strike()
		require.NoError(l, release())
		shot.struck(l)
		l.quietly()
		l.sums(4, 1)
		require.ErrorIs(l, release(), rlock.ErrNotHeld)
		require.NoError(l, stays())
		l.sums(5, 0)
	})
}

func TestACapacityUnderFaultsIsSetOnce(t *testing.T) {
	underFaults(t, "permit_capacity", func(l *lab, strike func() *shot) {
		s := l.leased(5)
		_, release, err := s.Acquire(l.bounded(), 2)
		require.NoError(l, err)
		shot := strike()
		require.NoError(l, s.SetCapacity(l.bounded(), 9))
		l.sums(7, 2)
		require.NoError(l, semaphore.New(l.other, l.name).SetCapacity(l.bounded(), 3))
		shot.struck(l)
		l.quietly()
		l.sums(1, 2)
		require.NoError(l, release())
		l.sums(3, 0)
	})
}

func TestRenewalsUnderFaultsKeepPermits(t *testing.T) {
	underFaults(t, "permit_renew", func(l *lab, strike func() *shot) {
		s := l.leased(2)
		shot := strike()
		held, release, err := s.Acquire(l.bounded(), 2)
		require.NoError(l, err)
		before := l.direct.ZScore(l.Context(), l.leases(), l.member()).Val()
		shot.struck(l)
		redistest.Eventually(l, patience, func() bool {
			return l.direct.ZScore(l.Context(), l.leases(), l.member()).Val() > before
		}, "it is renewed")
		require.NoError(l, held.Err())
		l.sums(0, 2)
		require.NoError(l, release())
		l.soon(2, 0)
		l.quietly()
		l.sums(2, 0)
	})
}

// member is a permit that stands in Redis.
func (l *lab) member() string {
	l.Helper()
	all := l.direct.ZRange(l.Context(), l.leases(), 0, 0).Val()
	require.NotEmpty(l, all)
	return all[0]
}

// needs 8: a call that is given up under way returns at once and leaves no permit behind.
func TestACancelledAcquisitionLeavesNothing(t *testing.T) {
	underFaults(t, "permit_acquire", func(l *lab, strike func() *shot) {
		s := l.leased(5)
		ctx, cancel := context.WithCancel(l.bounded())
		shot := strike()
		result := make(chan came, 1)
		go func() {
			held, release, err := s.Acquire(ctx, 2)
			result <- came{held, release, err}
		}()
		shot.rule.Wait(l, 1)
		cancel()
		got := arrives(l, result, "it returns though Redis does not answer")
		if got.err == nil { // the answer was there before, and nobody looks for copies: see above
			require.NoError(l, got.release())
			l.quietly()
		} else {
			require.ErrorIs(l, got.err, context.Canceled)
		}
		shot.struck(l)
		l.quietly()
		l.soon(5, 0)
		l.quietly()
		l.sums(5, 0)
	})
}
