package engine

import (
	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// The count of a hold's levels in Redis follows behind the calls; package hold decides when.
//
// For example, a caller nests three levels deep for a second and then leaves them again. The first nested Lock arms a
// timer of ten milliseconds; when it fires there are three levels, and "3" is written; the two unlocks arm it
// again, and "1" is written. Had the caller left within the ten milliseconds, nothing would have been sent at all.
// Whoever inspects the lock sees counts that are true up to such a moment, and nobody's decision depends on them.

// count has a count written by a goroutine of its own. That is refused when Close is at work, which then ends the hold.
func (h *Hold) count(step hold.Step) {
	h.engine.sender.Spawn(func() { h.writeCount(step) })
}

// writeCount tells Redis how many levels there are. If it does not come to know, it is told again, with a new
// number, as often as a hold is renewed at least.
func (h *Hold) writeCount(step hold.Step) {
	status, err := h.sendCount(step)
	kind := store.FaultOf(err)
	gone := kind == store.FaultConflict || kind == store.FaultNone && status == store.Gone
	h.Counted(step, kind == store.FaultNone, gone, h.engine.cfg.Lease/3)
	if gone {
		h.lose(hold.Gone, behindGone(err)) // unless somebody released or exported it: then it is not live
	}
}

// straighten has Redis know of the one level that a hold is exported with, so that nothing of the others is
// left with whoever imports it. Without an answer, what a reader's inner levels left ends with its lease.
func (h *Hold) straighten() {
	step, ok := h.Straighten()
	if !ok {
		return
	}
	status, err := h.sendCount(step)
	h.Stepped(step, err == nil && status != store.Gone)
}

// sendCount sends a count, and no TTL.
func (h *Hold) sendCount(step hold.Step) (store.Status, error) {
	e := h.engine
	var reply store.StepReply
	err := request.Exchange(crash.Count, func() (err error) {
		reply, err = h.proto.Reenter(e.sender.Within(background, e.sender.Limit(e.cfg.Lease)), h.step(step))
		return err
	})
	return reply.Status, err
}
