package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

var errHeldOver = errors.New("the hold has ended here")

// renew is the watchdog's way to the store. Holds that ended meanwhile are left out.
//
// A hold may also end, or pass to its next turn, while its renewal is under way. An answer for a lease that was stopped
// is dropped by the watchdog. A renewal that reaches the store after the release finds no such id and does nothing: it
// prolongs and never creates. A renewal that comes when the grant has passed to the next turn prolongs that
// turn's lease, under the same id, which is what that turn's own renewal would do.
//
// All renewals of one call are sent to one node, in one round trip. If that fails as a whole, each hold is told the
// same error and is tried again while it is valid: with a lease of 30 s the first renewal is due after 10 s, and a
// failed one is repeated every 1.5 s or sooner until validity ends.
func (e *Engine) renew(
	ctx context.Context, _ string, due []*watchdog.Lease, results []watchdog.Result,
) {
	sent := e.clock.Now()
	all, at := make([]store.Renewal, 0, len(due)), make([]int, 0, len(due))
	for i, l := range due {
		g := leased(l)
		ttl := g.RenewTTL()
		if ttl <= 0 {
			results[i] = watchdog.Result{Err: errHeldOver}
			continue
		}
		all, at = append(all, store.Renewal{Proto: g.proto, ID: g.id, TTL: ttl}), append(at, i)
	}
	if len(all) == 0 { // no store need know what to do with no renewal
		return
	}
	limit, _ := ctx.Deadline()
	ctx = e.sender.Within(background, time.Until(limit)) // so that a connection that has to be made has its own time
	lost := request.Exchange(crash.Renew, func() error {
		e.store.Renew(ctx, all)
		return nil
	})
	for i, one := range all {
		if err := cmp.Or(lost, one.Err); err != nil {
			results[at[i]] = watchdog.Result{Err: ours(err)}
			continue
		}
		results[at[i]] = watchdog.Result{Lease: one.TTL}
	}
	e.noteRenewals(sent, due, results)
}

// noteRenewals notes how many holds of a batch could be renewed. That a hold is gone is an answer.
func (e *Engine) noteRenewals(sent time.Duration, due []*watchdog.Lease, results []watchdog.Result) {
	confirmed, failed, sample := 0, 0, 0
	for i, r := range results {
		switch {
		case errors.Is(r.Err, errHeldOver):
		case r.Err == nil, isGone(r.Err):
			confirmed++
		default:
			failed, sample = failed+1, i
		}
	}
	if confirmed+failed == 0 {
		return
	}
	p := leased(due[sample]).proto
	ev := request.Event{Of: p, Node: e.node(p.Key()), Sent: sent, Err: results[sample].Err}
	e.sender.Renewed(ev, confirmed, failed)
}
