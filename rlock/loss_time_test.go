package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	lossRuns    = 100 // holds for each way of losing; the guarantee is 100 of 100
	lossClients = 10

	// Long, because the margin that validity has before the lease is what the scheduler of a loaded
	// machine may take for waking the goroutine that looks: 1 % and 12 ms.
	lossLease = 18 * time.Second
)

// lossWay is one way of losing contact with Redis for good.
type lossWay struct {
	name string
	// prepare comes before the acquisitions and arranges the fate of renewals. It returns nil if the
	// fault strikes right after the acquisition.
	prepare func(p *faultproxy.Proxy, gate *faultproxy.Gate) *faultproxy.Rule
	renewed bool // renewals are confirmed before the fault
	strike  func(l *lossLab, gate *faultproxy.Gate)
	sealed  bool // nothing reaches Redis any more, so the keys stay as they are
	healed  bool // after the loss Redis can be reached again
	after   func(l *lossLab, gate *faultproxy.Gate)
}

func lossNothing(*lossLab, *faultproxy.Gate) {}

// lossHoldFrom holds back every renewal from the n-th of each connection on.
func lossHoldFrom(n int) func(*faultproxy.Proxy, *faultproxy.Gate) *faultproxy.Rule {
	return func(p *faultproxy.Proxy, gate *faultproxy.Gate) *faultproxy.Rule {
		seen := map[int]int{} // the proxy asks for one request at a time
		return p.On(func(r faultproxy.Request) bool {
			if !lossRenewal(r) {
				return false
			}
			seen[r.Conn]++
			return seen[r.Conn] >= n
		}, faultproxy.HoldRequest(gate)).Times(-1)
	}
}

func lossBlackhole(l *lossLab, _ *faultproxy.Gate) { l.proxy.Blackhole(true) }
func lossStop(l *lossLab, _ *faultproxy.Gate)      { l.server.Stop() }
func lossKill(l *lossLab, _ *faultproxy.Gate)      { l.server.Kill() }

var lossWays = []lossWay{
	{name: "blackholed right after the acquisition", strike: lossBlackhole, sealed: true},
	{name: "frozen right after the acquisition", strike: lossStop},
	{name: "killed right after the acquisition", strike: lossKill},
	{name: "every reply cut right after the acquisition", strike: func(l *lossLab, _ *faultproxy.Gate) {
		l.proxy.On(faultproxy.AnyScript, faultproxy.CutAfter).Times(-1)
	}},
	{name: "blackholed in a renewal", prepare: lossHoldFrom(1), strike: lossBlackhole, sealed: true},
	{name: "blackholed in a later renewal", prepare: lossHoldFrom(2), renewed: true,
		strike: lossBlackhole, sealed: true},
	{name: "frozen with a renewal in its buffer", prepare: lossHoldFrom(1),
		strike: func(l *lossLab, gate *faultproxy.Gate) {
			l.server.Stop()
			gate.Open()
		},
		after: func(l *lossLab, _ *faultproxy.Gate) { l.server.Continue() }, healed: true}, // it reads them
	{name: "killed in a renewal", prepare: lossHoldFrom(1), strike: lossKill},
	{name: "renewed, but every reply lost", strike: lossNothing, healed: true,
		prepare: func(p *faultproxy.Proxy, _ *faultproxy.Gate) *faultproxy.Rule {
			return p.On(lossRenewal, faultproxy.DropReply).Times(-1)
		}},
	// The last of these replies is still waited for when validity ends, and says "renewed".
	{name: "renewed, but every reply late", strike: lossNothing,
		prepare: func(p *faultproxy.Proxy, gate *faultproxy.Gate) *faultproxy.Rule {
			return p.On(lossRenewal, faultproxy.HoldReply(gate)).Times(-1)
		},
		after: func(_ *lossLab, gate *faultproxy.Gate) { gate.Open() }, healed: true},
}

// G2, need 2: whatever cuts a holder off, right after the acquisition or in the middle of a renewal, its
// context ends, with the reason, before Redis can give the lock to anybody else. A renewal that hangs
// does not delay that, and one that is answered late revives nothing. 100 of 100 each (bug 19).
func TestLossComesBeforeTheLeaseEnds(t *testing.T) {
	t.Parallel()
	labs := make([]*lossLab, len(lossWays))
	for i := range lossWays {
		labs[i] = newLossLab(t, lossClients, lossLease)
	}
	errs := make([]error, len(lossWays))
	var all sync.WaitGroup
	var turn sync.Mutex
	pulse := newLossPulse(t)
	for i, way := range lossWays { // most of it is waiting, so all at a time, whatever -parallel says
		all.Go(func() {
			errs[i] = way.run(labs[i], &turn, pulse)
			labs[i].close()
		})
	}
	all.Wait()
	for i, way := range lossWays {
		t.Run(way.name, func(t *testing.T) { assert.NoError(t, errs[i]) })
	}
}

// run takes the holds when it is its turn, has the fault strike, and waits for what comes of it.
func (way lossWay) run(l *lossLab, turn *sync.Mutex, pulse *lossPulse) error {
	gate := faultproxy.NewGate()
	var rule *faultproxy.Rule
	if way.prepare != nil {
		rule = way.prepare(l.proxy, gate)
	}
	turn.Lock()
	holds, err := l.take(lossRuns)
	turn.Unlock()
	if err != nil {
		return err
	}
	if rule != nil {
		err = lossPoll(lossPatience, func() bool { return rule.Fired() >= lossClients },
			"a renewal of each client")
		if err != nil {
			return err
		}
	}
	if way.renewed { // and no renewal gets through any more: the present lease is the last
		err = l.look(holds)
	}
	if err := errors.Join(err, lossValid(holds)); err != nil {
		return err
	}
	way.strike(l, gate)
	err = lossAwait(holds, func(h *lossHold) error { return way.judge(l, h) })
	for _, h := range holds {
		err = errors.Join(err, pulse.inTime(h))
	}
	if way.after != nil {
		way.after(l, gate)
	}
	err = errors.Join(err, l.stayLost(holds))
	if way.healed { // what was renewed unknown to its holder does not stay for another lease (G5)
		err = errors.Join(err, lossPoll(lossLease/2, func() bool {
			n, e := l.direct.Exists(context.Background(), lossNames(holds)...).Result()
			return e == nil && n == 0
		}, "the lost holds are released"))
	}
	return err
}

func lossNames(holds []*lossHold) []string {
	names := make([]string, len(holds))
	for i, h := range holds {
		names[i] = h.name
	}
	return names
}

// judge looks at one hold at the moment of its loss.
func (way lossWay) judge(l *lossLab, h *lossHold) error {
	if way.sealed {
		left, err := l.direct.PTTL(context.Background(), h.name).Result()
		// A key that is gone answers with less than 0. With 0 it is there, for less than a millisecond more.
		if err != nil || left < 0 && time.Now().Before(h.expiry) {
			return fmt.Errorf("%s: at its loss Redis had %v left of it: %v", h.name, left, err)
		}
	}
	return lossCheck(h.name, context.Cause(h.ctx), rlock.LossExpired)
}

// lossCheck checks that err is the loss of that name for that reason.
func lossCheck(name string, err error, reason rlock.LossReason) error {
	var lost *rlock.LostError
	if !errors.Is(err, rlock.ErrLost) || !errors.As(err, &lost) {
		return fmt.Errorf("%s: not a loss: %v", name, err)
	}
	if lost.Name != name || lost.Reason != reason {
		return fmt.Errorf("%s: another loss than %v: %w", name, reason, err)
	}
	return nil
}

// stayLost checks, after the fault, that nothing revives a hold and that every way to ask for it returns
// the loss.
func (l *lossLab) stayLost(holds []*lossHold) error {
	errs := make([]error, len(holds))
	for i, h := range holds {
		_, held := h.lock.Held(h.ctx)
		errs[i] = errors.Join(
			lossCheck(h.name, held, rlock.LossExpired),
			lossCheck(h.name, h.unlock(), rlock.LossExpired),
			lossCheck(h.name, context.Cause(h.ctx), rlock.LossExpired),
		)
	}
	return firstLoss(errs)
}
