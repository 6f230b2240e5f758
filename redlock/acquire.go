package redlock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
)

// acquire asks all nodes at once and returns as soon as a quorum agreed or none can be had. Its validity is
// the engine's business, which counts it from before this call.
func (c *Client) acquire(ctx context.Context, lock *quorumLock, ask store.Ask) (lua.AcquireReply, error) {
	began := c.clock.Now()
	if now := virtual(began); ask.NotAfter < now {
		return lua.AcquireReply{Status: lua.Late, Now: now}, nil // tells the engine our time; no node is asked
	}
	if h := c.find(ask.ID); h != nil {
		if fence, ok := h.standing(); ok {
			return lua.AcquireReply{Status: lua.Already, Fence: fence, Now: virtual(began)}, nil
		}
		c.again(ask.ID)
	}
	h := c.newHold(lock, ask)
	h.mu.Lock()
	for i := range h.spots {
		h.askLocked(i, false, h.lease, h.until)
	}
	if h.countLocked(asked) < c.quorum {
		h.insistLocked()
	}
	h.weighLocked()
	h.mu.Unlock()
	h.await(ctx)
	reply, err := h.outcome()
	reply.Now = c.middle(began)
	return reply, err
}

// await waits for the decision: for one node's time, and as long again if the token is still to be stored.
func (h *hold) await(ctx context.Context) {
	if h.client.wait(ctx, h.decided) {
		return
	}
	h.mu.Lock()
	again := h.phase == confirming && !h.done
	h.mu.Unlock()
	if again {
		h.client.wait(ctx, h.decided)
	}
}

// outcome settles the attempt. Who has no quorum gives back what it has, wherever that may be.
func (h *hold) outcome() (lua.AcquireReply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.client
	if h.phase == held {
		return lua.AcquireReply{Status: lua.Held, Fence: h.fence, Spare: h.spare}, nil
	}
	if !h.done { // it was not decided by answers
		h.done = true
		h.mark(asked)
		if h.phase == confirming {
			h.mark(granted) // and was told the token
		}
	}
	yes, failed := h.countLocked(member)+h.countLocked(granted), maps.Clone(h.failed)
	h.freeLocked()
	// Where nodes answer "busy" they are contended for, and the attempt failed for that, unless too many
	// others did not answer at all.
	spare := len(c.nodes) - c.quorum
	if len(failed) > spare || len(h.busy) == 0 {
		c.again(h.id)
		return lua.AcquireReply{}, c.noQuorum(yes, failed)
	}
	slices.Sort(h.busy)
	// When all but the spare ones have expired, the others are no obstacle. For the ticket see nodeID.
	left := h.busy[max(len(h.busy)-spare-1, 0)]
	return lua.AcquireReply{Status: lua.Busy, PTTL: left, Ticket: 1}, nil
}

// mark notes for the error's text that nodes of these stands did not answer.
func (h *hold) mark(stands ...stand) {
	for i, n := range h.client.nodes {
		if h.failed[n] == nil && slices.Contains(stands, h.spots[i].stand) {
			h.failed[n] = errNever
		}
	}
}

// standing returns the token of a hold that is not given up.
func (h *hold) standing() (fence int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fence, h.phase == held
}

// middle is the time between then and now, which the engine supposes to be that of an answer.
func (c *Client) middle(then time.Duration) int64 {
	return virtual(then + (c.clock.Now()-then)/2)
}

// wait waits for an event, for one node's time at most. It reports whether it came.
func (c *Client) wait(ctx context.Context, event <-chan struct{}) bool {
	limit := c.timeout
	if at, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(at))
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-event:
		return true
	case <-timer.C:
		return false
	}
}

// free ends a hold: it is released wherever it may be, and what its engine is told is what a quorum says.
func (c *Client) free(ctx context.Context, h *hold) (lua.ReleaseReply, error) {
	began := c.clock.Now()
	h.mu.Lock()
	h.awaited = true // the answer is kept for this call, or the next one
	h.freeLocked()
	h.mu.Unlock()
	answered := c.wait(ctx, h.freed)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !answered {
		h.mark(leaving, asked)
		h.tallyLocked()
	}
	reply := lua.ReleaseReply{Status: lua.Done, Now: c.middle(began)}
	switch {
	case !h.settled:
		return lua.ReleaseReply{}, c.noQuorum(h.countLocked(absent), h.failed)
	case h.lost:
		reply.Status = lua.Gone
	}
	c.forget(h)
	return reply, nil
}

// freeLocked has the hold released at every node where it may be. Where its request was not sent yet, it
// never is; where it is under way, the answer is waited for, and nothing is sent before.
func (h *hold) freeLocked() {
	if h.phase == over {
		return
	}
	believed := h.phase == held
	h.phase = over
	clear(h.failed)
	for i := range h.spots {
		at := &h.spots[i]
		if at.stand == asked && at.ask.cancel() {
			at.stand = absent
		}
		at.counted = believed && (at.stand == member || at.stand == granted || at.stand == asked)
		h.releaseLocked(i)
	}
	h.tallyLocked()
}

// releaseLocked has node i release the hold if it may have it. The node is told until it says that the
// hold is not there, at a time after which no request for it can be carried out any more; or until the
// lease of the last such request is over.
func (h *hold) releaseLocked(i int) {
	at, c := &h.spots[i], h.client
	doubt := at.unsure && !c.clocks.Past(c.nodes[i].addr, c.clock.Now(), at.notAfter)
	switch {
	case at.stand == asked, at.stand == leaving, at.stand == absent && !doubt:
		return
	}
	at.stand = leaving
	now := c.clock.Now()
	e := &errand{urgent: true, lasting: true, end: now + c.guard + 2*c.patience}
	e.make = func(time.Duration) *lua.Call[lua.QuorumReply] {
		return lua.QuorumRelease(lua.ReleaseArgs{
			Lock: h.lock.key, ID: h.nodeID, Channel: h.lock.channel, WantNow: true,
		})
	}
	first := true // no copy of this request can have been carried out before
	e.land = func(_ *errand, reply lua.QuorumReply, err error) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil && !errors.Is(err, lua.ErrConflict) {
			h.failed[c.nodes[i]] = err
			first = first && (unsent(err) || answered(err))
			if c.clock.Now() < e.end && !isHopeless(err) {
				h.tallyLocked()
				return true
			}
			h.awaited = false // nobody asks for so long
		}
		if at.counted && err == nil && (reply.Status == lua.Done || !first) {
			h.yes++
		}
		at.counted = false
		delete(h.failed, c.nodes[i])
		if doubt && err == nil && reply.Now <= at.notAfter && c.clock.Now() < e.end {
			h.failed[c.nodes[i]] = errDoubt
			e.due = c.clocks.Local(c.nodes[i].addr, at.notAfter, c.clock.Now()) + time.Millisecond
			return true
		}
		at.stand = absent
		h.tallyLocked()
		return false
	}
	if err := c.nodes[i].submit(e); err != nil {
		at.stand, at.counted = absent, false
		h.failed[c.nodes[i]] = err
	}
}

// tallyLocked draws the conclusion from the releases so far. A quorum that had it says that it was never
// lost; if too few of those answer, it is enough that a quorum does not have it any more, and that nobody
// said that it was gone before.
func (h *hold) tallyLocked() {
	open, silent := 0, 0
	for i, n := range h.client.nodes {
		if h.spots[i].counted {
			open++
			if h.failed[n] != nil {
				silent++
			}
		}
	}
	q, without := h.client.quorum, h.countLocked(absent)
	switch {
	case h.settled:
	case h.yes >= q, h.yes+open >= q && open == silent && without >= q:
		h.settled = true
		close(h.freed)
	case h.yes+open < q:
		h.settled, h.lost = true, true
		close(h.freed)
	}
	if without == len(h.spots) && !h.awaited {
		h.client.forget(h)
	}
}
