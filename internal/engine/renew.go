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
func (e *Engine) renew(
	ctx context.Context, _ string, due []*watchdog.Lease, results []watchdog.Result,
) {
	limit, _ := ctx.Deadline()
	ctx = e.sender.Within(background, time.Until(limit)) // so that a connection that has to be made has its own time
	now := e.clock.Now()
	all, at := make([]store.Renewal, 0, len(due)), make([]int, 0, len(due))
	for i, l := range due {
		h := ownerOf(l)
		ttl := h.RenewTTL(now, e.cfg.Lease)
		if ttl <= 0 {
			results[i] = watchdog.Result{Err: errHeldOver}
			continue
		}
		all, at = append(all, store.Renewal{Proto: h.proto, ID: h.id(), TTL: ttl}), append(at, i)
	}
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
	e.warn(due, results)
}

// warn logs one line for a batch, however many of its holds could not be renewed.
func (e *Engine) warn(due []*watchdog.Lease, results []watchdog.Result) {
	failed, sample := 0, -1
	for i, r := range results {
		if r.Err != nil && !isGone(r.Err) && !errors.Is(r.Err, errHeldOver) {
			failed, sample = failed+1, i
		}
	}
	if failed > 0 && !e.sender.Closed() {
		e.events.warn("locks could not be renewed; tried again while they are valid",
			"locks", failed, "one", ownerOf(due[sample]).proto.Name(), "error", results[sample].Err)
	}
}
