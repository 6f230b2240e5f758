package engine

import (
	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// count has a step sent by a goroutine of its own. That is refused when Close is at work, which then ends the hold.
func (g *Grant) count(from, to int32) {
	g.engine().sender.Spawn(func() { g.sendCount(from, to) })
}

// sendCount tells the store how many levels there are, once. The request does no harm when it is late: it changes a
// count and nothing else, where the hold still stands with the count that the step starts from (see package hold).
// Without an answer it is not known what stands, and the hold asks again, after a third of a lease at the latest.
func (g *Grant) sendCount(from, to int32) {
	e := g.engine()
	var stands int64
	err := request.Exchange(crash.Count, func() (err error) {
		within := e.sender.Within(background, e.sender.Limit(e.cfg.Lease))
		stands, err = g.proto.Levels(within, g.id, int64(from), int64(to))
		return err
	})
	switch store.FaultOf(err) {
	case store.FaultNone, store.FaultConflict:
		g.Counted(int32(stands))
		if stands == 0 {
			g.lose(hold.Gone, behindGone(err)) // unless somebody released or exported it: then it is not live
		}
	case store.FaultDefinite:
		g.Counted(to)
	default:
		g.CountUnknown(e.cfg.Lease / 3)
	}
}
