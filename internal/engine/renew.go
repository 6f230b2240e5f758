package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/watchdog"
)

var errRefusedWrite = errors.New("redis refused to extend it (too few replicas, or an access rule?)")

var errHeldOver = errors.New("the hold has ended here")

// group is what one renewal script is asked: holds of one kind, and where slots count of one slot.
type group struct {
	renewer   Renewer
	slot      int
	at        []int // where the holds stand in the batch
	keys, ids []string
	ttls      []int64
}

// renew is the watchdog's way to Redis: one script for the holds of a batch that can share one,
// up to renewBatch of them, and all scripts in one round trip.
func (e *Engine) renew(
	ctx context.Context, shard string, due []*watchdog.Lease, results []watchdog.Result,
) {
	at, _ := ctx.Deadline()
	ctx = within(background, time.Until(at)) // so that a connection that has to be made has its own time
	groups := e.groups(due, results)
	calls := prepare(groups)
	e.sendRenewals(ctx, groups, calls)
	var refused []refusedGroup
	for i, g := range groups {
		if len(g.at) > 1 && e.refusesMany(calls[i].Err) {
			refused = append(refused, refusedGroup{g, calls[i].Err})
			continue
		}
		g.report(calls[i], results)
	}
	if len(refused) > 0 {
		e.renewApart(ctx, refused, results)
	}
	e.warn(due, results)
}

// refusedGroup is a group that the server wants no single script for.
type refusedGroup struct {
	*group
	err error
}

// renewApart sends every hold's renewal as a script of its own.
func (e *Engine) renewApart(ctx context.Context, refused []refusedGroup, results []watchdog.Result) {
	var apart []*group
	for _, g := range refused {
		apart = append(apart, g.singles()...)
	}
	calls := prepare(apart)
	e.sendRenewals(ctx, apart, calls)
	for i, g := range apart {
		g.report(calls[i], results)
	}
	for _, g := range refused {
		own := calls[:len(g.at)]
		calls = calls[len(g.at):]
		fine := !slices.ContainsFunc(own, func(c *lua.Call[[]lua.RenewStatus]) bool { return c.Err != nil })
		if e.learnSlots(g.err); fine && lua.Refused(g.err) {
			e.bySlot.Store(true)
		}
	}
}

func prepare(groups []*group) []*lua.Call[[]lua.RenewStatus] {
	calls := make([]*lua.Call[[]lua.RenewStatus], len(groups))
	for i, g := range groups {
		calls[i] = g.renewer.Renew(g.keys, g.ids, g.ttls)
	}
	return calls
}

// warn logs one line for a batch, however many of its holds could not be renewed.
func (e *Engine) warn(due []*watchdog.Lease, results []watchdog.Result) {
	failed, sample := 0, -1
	for i, r := range results {
		if r.Err != nil && !isGone(r.Err) && !errors.Is(r.Err, errHeldOver) {
			failed, sample = failed+1, i
		}
	}
	if failed > 0 && !e.isClosed() {
		e.news.warn("locks could not be renewed; tried again while they are valid",
			"locks", failed, "one", holdOf(due[sample]).proto.Name(), "error", results[sample].Err)
	}
}

// groups sorts the batch. Holds that ended meanwhile are left out.
func (e *Engine) groups(due []*watchdog.Lease, results []watchdog.Result) []*group {
	now, bySlot := e.clock.Now(), e.BySlot()
	var groups []*group
	type kind struct {
		renewer Renewer
		slot    int
	}
	byKind := make(map[kind]*group)
	for i, l := range due {
		h := holdOf(l)
		ttl := h.renewTTL(now)
		if ttl <= 0 {
			results[i] = watchdog.Result{Err: errHeldOver}
			continue
		}
		k := kind{renewer: h.proto.Renewer()}
		if bySlot {
			k.slot = keys.Slot(h.proto.Key())
		}
		g := byKind[k]
		if g == nil || len(g.at) == renewBatch {
			g = &group{renewer: k.renewer, slot: k.slot}
			if !bySlot { // then nearly all go into one
				g.expect(min(len(due)-i, renewBatch))
			}
			byKind[k] = g
			groups = append(groups, g)
		}
		g.add(i, h.proto.Key(), h.id(), ttl)
	}
	return groups
}

func (g *group) expect(n int) {
	g.at, g.ttls = make([]int, 0, n), make([]int64, 0, n)
	g.keys, g.ids = make([]string, 0, n), make([]string, 0, n)
}

func (g *group) add(at int, key, id string, ttl time.Duration) {
	g.at = append(g.at, at)
	g.keys = append(g.keys, key)
	g.ids = append(g.ids, id)
	g.ttls = append(g.ttls, ttl.Milliseconds())
}

func (g *group) singles() []*group {
	singles := make([]*group, len(g.at))
	for i := range g.at {
		singles[i] = &group{
			renewer: g.renewer, slot: g.slot, at: g.at[i : i+1],
			keys: g.keys[i : i+1], ids: g.ids[i : i+1], ttls: g.ttls[i : i+1],
		}
	}
	return singles
}

// sendRenewals sends one script per group: the only one as it is, several in one pipeline per node.
// With MinReplicas each goes over a connection of its own, on which WAIT can follow.
func (e *Engine) sendRenewals(
	ctx context.Context, groups []*group, calls []*lua.Call[[]lua.RenewStatus],
) {
	lost := exchange(crash.Renew, func() error {
		e.sendEach(ctx, groups, calls)
		return nil
	})
	for _, c := range calls {
		c.Err = first(lost, c.Err)
	}
}

func (e *Engine) sendEach(
	ctx context.Context, groups []*group, calls []*lua.Call[[]lua.RenewStatus],
) {
	switch {
	case e.cfg.MinReplicas > 0:
		for i, g := range groups {
			calls[i].Err = e.renewReplicated(ctx, g, calls[i])
		}
	case len(calls) == 1:
		calls[0].Reply, calls[0].Err = calls[0].Run(ctx, e.cfg.Links.Renewal)
	default:
		lua.RunAll(ctx, e.cfg.Links.Renewal, calls)
	}
}

func (e *Engine) renewReplicated(
	ctx context.Context, g *group, c *lua.Call[[]lua.RenewStatus],
) error {
	at, _ := ctx.Deadline()
	return e.replicated(ctx, e.cfg.Links.Renewal, g.keys[0], time.Until(at),
		func(ctx context.Context, conn lua.Conn) (bool, error) {
			reply, err := c.Run(ctx, conn)
			c.Reply = reply
			return true, err
		})
}

// report translates the answers for the watchdog.
func (g *group) report(c *lua.Call[[]lua.RenewStatus], results []watchdog.Result) {
	for i, at := range g.at {
		r := &results[at]
		switch {
		case c.Err != nil:
			r.Err = ours(c.Err)
		case c.Reply[i] == lua.Renewed:
			*r = watchdog.Result{Lease: time.Duration(g.ttls[i]) * time.Millisecond}
		case c.Reply[i] == lua.RenewGone:
			r.Err = watchdog.ErrGone
		case c.Reply[i] == lua.RenewConflict:
			r.Err = fmt.Errorf("%w: %w", watchdog.ErrGone, lua.ErrConflict)
		default:
			r.Err = errRefusedWrite
		}
	}
}
