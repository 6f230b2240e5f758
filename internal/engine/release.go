package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

var background = context.Background()

// by is a context under which nothing takes longer than until end, however many connections have to be made.
func (e *Engine) by(end time.Duration) context.Context {
	return e.sender.Within(background, end-e.clock.Now())
}

// releaseIn releases a hold in Redis, and lets the next in line ask. "Not there" is a loss if the first
// request says so; after a request whose reply was lost it is that request's work.
func (e *Engine) releaseIn(h *Hold, end time.Duration, runOver, certain bool) error {
	runOver = runOver && !h.proto.Traits().Queues // whose turn it is then is the store's to say
	if runOver {
		e.table.ends(h, e.store.Heard(h.proto.Channel()))
	}
	var reply store.ReleaseReply
	var err error
	if !e.sender.Retry(background, end, func() request.Next {
		reply, err = e.sender.Release(background, h.proto, h.id(), end)
		switch store.FaultOf(err) {
		case store.FaultNone, store.FaultConflict:
			return request.Settled
		case store.FaultAmbiguous:
			certain = false
		case store.FaultDefinite:
			return request.GiveUp
		}
		return request.Later
	}) {
		e.sender.Reclaim(request.Orphan{Proto: h.proto, ID: h.id()}, h.Longest())
		e.table.drop(h, 0)
		return e.unavailable(h.proto, err)
	}
	if err != nil || certain && reply.Status != store.Done {
		lost := e.lostError(h.proto, hold.Gone, err)
		e.table.drop(h, 0)
		e.events.lost(lost)
		return lost
	}
	others := 0
	if runOver {
		others = e.store.Others(h.proto.Channel(), reply.Receivers)
	}
	e.table.keepTurn(h)
	e.table.drop(h, others)
	return nil
}

// takeBack releases once, without waiting for more than one command's time: the reclaimer is for what
// that does not settle.
func (e *Engine) takeBack(req Request, id string) {
	_, err := e.sender.Release(background, req.Proto, id, e.clock.Now()+e.sender.Limit(e.cfg.Lease))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		e.sender.Reclaim(request.Orphan{Proto: req.Proto, ID: id}, req.Lease)
	}
}
