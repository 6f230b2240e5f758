package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Held is what is known here of a live hold.
type Held struct {
	ID         string
	Fence      int64
	Count      int
	ValidUntil time.Time
}

// Held looks at the hold of the lock that ctx carries, without asking the store. What it returns was true at one
// instant: the hold may be lost right after. ValidUntil is therefore the instant to plan with, the earliest of
// those at which the context will end unless something prolongs it: the validity of the grant, the level's own
// fixed lease, and MaxHold.
func (e *Engine) Held(ctx context.Context, p store.Protocol) (Held, error) {
	l, g, err := e.holding(ctx, p)
	if err != nil {
		return Held{}, err
	}
	h := l.Hold()
	count, until := h.Seen()
	return Held{ID: g.id, Fence: h.Fence, Count: count, ValidUntil: e.clock.Wall(until)}, nil
}

// Seen is what the store and this client know of a lock.
type Seen struct {
	Holders   []Holder
	Held      int // all holders, those who are not told of too
	Waiters   int
	Queue     []Queued // known waiters: here, and in a queue that the store keeps
	Truncated bool     // there are more holders, or more in the queue, than are told of

	Transactions []store.Transaction // that keep the lock from others, whoever has it
}

// Queued is one waiter.
type Queued struct {
	ID    string
	Since time.Time
	Mine  bool
}

// Holder is one hold as the store shows it. Mine is what this process knows of: a hold of an earlier client of the same
// program, which was not closed, is somebody else's.
type Holder struct {
	ID    string
	Count int64
	TTL   time.Duration // negative: it stays until it is broken
	Fence int64
	Mine  bool
	Kept  bool   // its client may keep it without holding it: see keeper.go
	Owner string // what its client says of itself, if that is asked
}

// noExpiry is the TTL of a holder that stays until it is broken.
const noExpiry time.Duration = -1

// Inspect asks the store who holds, in one round trip. It changes nothing there, and needs no right to write. Holders
// are those that the store knows: where a run of turns passes a hold on in memory, they are one holder with one id, and
// the fencing token is the end of the range that the grant reserved.
func (e *Engine) Inspect(ctx context.Context, p store.Protocol) (Seen, error) {
	reply, err := e.look(ctx, p)
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{
		Queue: e.queue(p, reply), Held: len(reply.Holders) + int(reply.More),
		Truncated: reply.More+reply.QueueMore > 0, Transactions: reply.Transactions,
	}
	seen.Waiters = len(seen.Queue) + int(reply.QueueMore)
	if !p.Traits().Queues {
		seen.Waiters += max(int(reply.Subscribers)-e.listening(p), 0)
	}
	for _, holder := range reply.Holders {
		ttl := holder.TTL
		if ttl == 0 {
			ttl = reply.PTTL
		}
		if ttl < 0 {
			ttl = noExpiry
		}
		seen.Holders = append(seen.Holders, Holder{
			ID: holder.ID, Count: holder.Count, TTL: ttl, Fence: reply.Fence,
			Mine: e.table.find(p, holder.ID) != nil, Kept: store.MayBeIdle(holder.ID),
		})
	}
	if e.cfg.Owners != nil && len(seen.Holders) > 0 {
		e.cfg.Owners(ctx, seen.Holders)
	}
	return seen, nil
}

// queue lists the waiters: all of them, where the store keeps a queue, and otherwise those of this client. Of the
// waiters of other clients there is a number only then, and a rough one: as many as listen on the channel, one for
// each client.
func (e *Engine) queue(p store.Protocol, reply store.InspectReply) (queue []Queued) {
	if p.Traits().Queues {
		for _, w := range reply.Queue {
			queue = append(queue, Queued{
				ID: w.ID, Since: time.UnixMicro(w.Since), Mine: strings.HasPrefix(w.ID, e.cfg.ClientID+":"),
			})
		}
		return queue
	}
	return e.table.waiting(p)
}

// listening is 1 if this client's own subscription is among those that the store counts.
func (e *Engine) listening(p store.Protocol) int {
	if e.store.Heard(p.Channel()) != (store.Heard{}) {
		return 1
	}
	return 0
}

// look asks once more if the first answer was lost, for what is left of the same time limit.
func (e *Engine) look(ctx context.Context, p store.Protocol) (store.InspectReply, error) {
	if ctx.Err() != nil {
		return store.InspectReply{}, over(ctx, p)
	}
	if !e.sender.Begin() {
		return store.InspectReply{}, e.refuse(p)
	}
	defer e.sender.Done()
	began := e.clock.Now()
	reply, err := e.lookOnce(ctx, p, e.sender.Limit(e.cfg.Lease))
	if store.FaultOf(err) == store.FaultAmbiguous {
		// A peer that hung up is found out by the command, and looking twice does no harm.
		reply, err = e.lookOnce(ctx, p, e.sender.Limit(e.cfg.Lease)-(e.clock.Now()-began))
	}
	if err != nil {
		return reply, e.unserved(ctx, p, err)
	}
	return reply, nil
}

// lookOnce asks once. A caller whose context ends leaves at once; an answer that comes later is dropped, for a look has
// changed nothing.
func (e *Engine) lookOnce(ctx context.Context, p store.Protocol, limit time.Duration) (store.InspectReply, error) {
	return request.Call(e.sender, ctx, func(ctx context.Context) (store.InspectReply, error) {
		if err := e.store.Ready(ctx, limit); err != nil {
			return store.InspectReply{}, err
		}
		return p.Inspect(e.store.WithinAll(ctx, limit, max(limit, time.Second))) // with the greeting of a connection
	}, func(store.InspectReply, error) {})
}

var errBroken = errors.New("broken by this client")

// Break takes the lock from its present holder. A holder of this process is told at once, before the store is asked;
// one of another process is sent a message (tellBroken), and learns of it with its next renewal or step at the latest.
// It looks first and then releases just those
// holds, so that a request that is late or sent twice cannot take it from somebody who came after. If there were
// more than one look lists, it looks again until it has broken as many as there were.
//
// Breaking takes two steps, and between them the holder may have changed: the first has released, and another holds.
// The release names the id that was looked at, and so takes nothing from the newcomer. Such a Break has done what was
// asked for, as the holder that the caller meant is gone.
//
// A transaction that keeps the lock from others is no hold, and no release ends it: the error names it.
func (e *Engine) Break(ctx context.Context, p store.Protocol) error {
	broken, held := 0, 0
	for {
		reply, err := e.look(ctx, p)
		if err != nil {
			return err
		}
		for _, holder := range reply.Holders {
			if _, err := e.breakHold(ctx, p, holder.ID); err != nil {
				return e.barred(ctx, p, err)
			}
		}
		broken += len(reply.Holders)
		held = max(held, len(reply.Holders)+int(reply.More))
		switch {
		case broken == 0:
			return e.barred(ctx, p, e.notHeld(p))
		case len(reply.Holders) == 0, broken >= held:
			return e.barred(ctx, p, nil)
		}
	}
}

// barred is the error of a break that ended with err: if transactions keep the lock from everybody now, it names them.
// They keep it from nobody if a waiter could take it meanwhile.
func (e *Engine) barred(ctx context.Context, p store.Protocol, err error) error {
	if !p.Traits().Transactions {
		return err
	}
	now, failed := e.look(ctx, p)
	undone := err != nil && !errors.Is(err, e.cfg.Errors.NotHeld)
	if failed != nil || len(now.Transactions) == 0 || len(now.Holders) > 0 && !undone {
		return err
	}
	return e.cfg.Errors.Barred(p, now.Transactions)
}

// BreakOne takes one hold from its holder. It is told NotHeld if there is no such hold, unless an earlier
// sending of this very call may have been what ended it.
func (e *Engine) BreakOne(ctx context.Context, p store.Protocol, id string) error {
	if ctx.Err() != nil {
		return over(ctx, p)
	}
	if e.sender.Closed() {
		return e.refuse(p)
	}
	status, err := e.breakHold(ctx, p, id)
	if err == nil && status == store.Gone {
		return e.notHeld(p)
	}
	return e.barred(ctx, p, err)
}

// breakHold takes one hold by its id, which no later hold will have: a copy of the request that comes late takes
// nothing. If this process has the hold, its contexts end before the store is asked, so that the next holder cannot
// overlap it. A holder of another process goes on until it hears of the break: it is told afterwards, and its renewal,
// which it then sends at once and otherwise within a third of a lease, says "not there". Until then two callers think
// that they hold, which is what breaking a lock means, and why the fencing token exists.
func (e *Engine) breakHold(ctx context.Context, p store.Protocol, id string) (store.Status, error) {
	if !e.sender.Begin() {
		return store.Gone, e.refuse(p)
	}
	defer e.sender.Done()
	if g := e.table.find(p, id); g != nil {
		g.lose(hold.Gone, errBroken)
	}
	limit, end := e.sender.Limit(e.cfg.Lease), e.clock.Now()+e.cfg.ReleaseTimeout
	status := store.Gone
	var failed error
	if !e.sender.Retry(ctx, end, func() request.Next {
		reply, err := request.Call(e.sender, ctx, func(ctx context.Context) (store.ReleaseReply, error) {
			if err := e.store.Ready(ctx, limit); err != nil {
				return store.ReleaseReply{}, err
			}
			return e.sender.Release(ctx, p, id, end)
		}, func(store.ReleaseReply, error) {})
		failed = err
		switch store.FaultOf(err) {
		case store.FaultNone:
			status = min(status, reply.Status)
			return request.Settled
		case store.FaultAmbiguous:
			status = store.Done // if it is gone now, that is our work
		case store.FaultConflict, store.FaultDefinite:
			return request.GiveUp
		}
		return request.Later
	}) {
		return store.Gone, e.unserved(ctx, p, failed)
	}
	if status == store.Done {
		e.tellBroken(p, id)
	}
	return status, nil
}
