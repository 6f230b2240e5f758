package fairlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	// faultLease is long enough that what is gone within faultGrace was taken away, and did not expire. The
	// limit of a command, a sixth of it, is less than an invitation's time: who hears nothing for longer than
	// that loses its turn.
	faultLease = 12 * time.Second
	faultLimit = faultLease / 6
	faultGrace = 10 * time.Second
)

// faultLab is a waiter through a proxy, and rivals that it does not touch.
type faultLab struct {
	*lab
	proxy  *faultproxy.Proxy
	victim *peer
	rival  *peer
}

func newFaultLab(t *testing.T) *faultLab {
	t.Helper()
	l := newLab(t)
	f := &faultLab{lab: l, proxy: faultproxy.Start(t, l.server.Addr())}
	opts := rlock.ClientOptions{Lease: faultLease, MaxPoll: 2 * time.Second}
	f.victim = l.peerAt(f.proxy.Addr(), opts)
	f.rival = l.peer(opts)
	f.rival.warm()
	f.victim.warm()
	return f
}

// warm has Redis know every script afterwards, and the client the server's time.
func (p *peer) warm() {
	p.Helper()
	first := p.take()
	ctx, cancel := context.WithCancel(context.Background())
	head, behind := p.waitWith(ctx), p.waitWith(ctx)
	cancel()
	p.ended(head)
	p.ended(behind)
	p.queued(0)
	first.frees(p)
}

// fault is what happens to one call of a script. The gate, if there is one, opens when all is over.
type fault struct {
	name   string
	action faultproxy.Action
	gate   *faultproxy.Gate
	late   bool // what arrives late was never answered, so it is looked for
}

func faults() []fault {
	late, again := faultproxy.NewGate(), faultproxy.NewGate()
	return []fault{
		{name: "its reply is lost", action: faultproxy.DropReply},
		{name: "it is cut off after it was carried out", action: faultproxy.CutAfter},
		{name: "it is cut off before it arrives", action: faultproxy.CutBefore},
		{name: "it is lost", action: faultproxy.DropRequest},
		{name: "it comes twice", action: faultproxy.Duplicate},
		{name: "it comes late", action: faultproxy.Late(late), gate: late, late: true},
		{name: "it comes again late", action: faultproxy.DuplicateLater(again), gate: again},
	}
}

// operation is something of which one call goes wrong. It returns when all who wanted the lock had it.
type operation struct {
	name, script string
	run          func(f *faultLab, fail func())
}

func operations() []operation {
	return []operation{
		{"taking a free lock", "fair_acquire", func(f *faultLab, fail func()) {
			fail()
			h := f.arrives(f.victim.start(context.Background()))
			require.Equal(f, 1, h.known(f).Count)
			f.rival.busy()
			h.frees(f)
		}},
		{"coming to the queue", "fair_acquire", func(f *faultLab, fail func()) {
			first := f.rival.take()
			fail()
			mine := f.victim.wait()
			f.inOrder(first, mine, f.rival.wait())
		}},
		{"coming behind others of the process", "fair_enqueue", func(f *faultLab, fail func()) {
			first := f.rival.take()
			mine := f.victim.wait()
			fail()
			second := f.victim.wait()
			f.inOrder(first, mine, second, f.rival.wait())
		}},
		{"claiming the lock", "fair_acquire", func(f *faultLab, fail func()) {
			first := f.rival.take()
			mine := f.victim.wait()
			fail()
			f.inOrder(first, mine)
		}},
		{"releasing the lock", "fair_release", func(f *faultLab, fail func()) {
			first := f.victim.take()
			next, last := f.rival.wait(), f.victim.wait()
			fail()
			f.inOrder(first, next, last)
		}},
		{"leaving the queue", "fair_release", func(f *faultLab, fail func()) {
			first := f.rival.take()
			ctx, cancel := context.WithCancel(context.Background())
			gone, last := f.victim.waitWith(ctx), f.rival.wait()
			fail()
			cancel()
			f.ended(gone)
			f.queued(1)
			f.inOrder(first, last)
		}},
		{"leaving with an invitation", "fair_release", func(f *faultLab, fail func()) {
			first := f.rival.take()
			ctx, cancel := context.WithCancel(context.Background())
			gone, last := f.victim.waitWith(ctx), f.rival.wait()
			held := faultproxy.NewGate()
			claim := f.proxy.On(faultproxy.Script(luacall.SHA("fair_acquire")), faultproxy.HoldRequest(held))
			first.frees(f)
			claim.Wait(f.T, 1)
			fail()
			cancel()
			f.ended(gone)
			held.Open() // the claim is carried out, and taken back, or finds nothing
			f.arrives(last).frees(f)
		}},
	}
}

// One call goes wrong, in any way: a caller that is told that it holds does, alone, everybody gets in in the order in
// which they came, each with a token of its own, and nothing is left (needs 1, bugs 1, 3, 35).
func TestACallGoesWrong(t *testing.T) {
	t.Parallel()
	for _, op := range operations() {
		for i, fault := range faults() {
			t.Run(op.name+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				f := newFaultLab(t)
				fault := faults()[i] // with a gate of its own
				var rule *faultproxy.Rule
				op.run(f, func() {
					rule = f.proxy.On(faultproxy.Script(luacall.SHA(op.script)), fault.action)
				})
				rule.Wait(t, 1)
				if fault.gate != nil {
					if !fault.late {
						f.passes() // a copy of what was answered is taken for nothing by its not-after
					}
					fault.gate.Open()
					f.delivered(fault.gate)
				}
				f.settles()
			})
		}
	}
}

// delivered waits until what was kept at a gate was carried out.
func (f *faultLab) delivered(gate *faultproxy.Gate) {
	f.Helper()
	redistest.Receive(f, patience, gate.Delivered(), "the late request is not delivered")
}

// settles waits until nothing is left, before it could have expired.
func (f *faultLab) settles() {
	f.Helper()
	for range 2 {
		redistest.Eventually(f, faultGrace, func() bool { return len(f.left()) == 0 }, "something is left")
		f.rival.take().frees(f)
	}
}

// passes waits until the server's clock is beyond the not-after of whatever was sent before.
func (f *faultLab) passes() {
	f.Helper()
	now := func() time.Time { return f.rdb.Time(context.Background()).Val() }
	end := now().Add(faultLimit)
	redistest.Eventually(f, patience, func() bool { return now().After(end) }, "time passes")
}

// A call whose context ends while a request is under way returns at once, and nothing comes of the request.
func TestContextEndsWhileARequestIsUnderWay(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(*faultproxy.Gate) faultproxy.Action{
		"before it arrives": faultproxy.HoldRequest, "after it was carried out": faultproxy.HoldReply,
	} {
		for _, at := range []string{"a free lock", "its place", "a place behind others", "its turn"} {
			t.Run(at+" "+name, func(t *testing.T) {
				t.Parallel()
				f := newFaultLab(t)
				gate, script := faultproxy.NewGate(), "fair_acquire"
				defer gate.Open()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var first hold
				var others []<-chan hold
				if at != "a free lock" {
					first = f.rival.take()
				}
				if at == "a place behind others" {
					others = append(others, f.victim.wait())
					script = "fair_enqueue"
				}
				var c <-chan hold
				if at == "its turn" {
					c = f.victim.waitWith(ctx)
				}
				rule := f.proxy.On(faultproxy.Script(luacall.SHA(script)), keep(gate))
				if at == "its turn" {
					first.frees(t)
					first = hold{}
				} else {
					c = f.victim.start(ctx)
				}
				rule.Wait(t, 1)
				cancel()
				require.ErrorIs(t, f.ended(c), context.Canceled)
				gate.Open()
				if name == "before it arrives" {
					f.delivered(gate)
				}
				if first.lock != nil {
					f.queued(len(others))
					f.inOrder(first, others...)
				}
				f.settles()
			})
		}
	}
}

// With every message lost a waiter gets in with its next look, and in its turn (G6, bug 24).
func TestMessagesAreSwallowed(t *testing.T) {
	t.Parallel()
	f := newFaultLab(t)
	first := f.rival.take()
	mine := f.victim.wait()
	f.proxy.SwallowMessages(true)
	f.inOrder(first, mine, f.rival.wait())
	f.clean()
}

// A subscription that breaks is made anew, and the waiter looks for itself then.
func TestSubscriptionsBreak(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := faultproxy.Start(t, l.server.Addr())
	victim, rival := l.peerAt(proxy.Addr(), rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := rival.take()
	mine := victim.wait()
	channel := "holdfast_fair:{" + l.name + "}:*"
	listens := func() bool { return len(l.rdb.PubSubChannels(context.Background(), channel).Val()) > 0 }
	redistest.Eventually(t, patience, listens, "it does not listen")
	proxy.Refuse(true)
	proxy.CutSubscribers()
	redistest.Eventually(t, patience, func() bool { return !listens() }, "it still listens")
	first.frees(t)
	proxy.Refuse(false)
	l.arrives(mine).frees(t)
	l.clean()
}
