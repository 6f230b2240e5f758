package redlock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// acquire asks all nodes at once and returns as soon as a quorum agreed or none is possible. The engine computes the
// validity, and counts it from before this call.
//
// The hold is counted from before the first request was sent, and each node counts the lease from when it
// granted, which is later. With a lease of 30 s, and 302 ms (1 % and 2 ms) taken off for drift, it is live
// until 29.698 s by this client's clock. A node whose clock runs 1 % fast keeps it until 29.703 s at least. So
// the client stops before any node does.
//
// The engine may repeat a request whose answer it did not see. A hold that stands under the id is then reported
// as it is. One that was given up gets a new attempt with an id of its own at the nodes, since releases of the
// old one may be under way.
//
// The mutex is held over all the submissions: a vote that comes at once waits in onAnswer until every node was
// asked, so it is not counted against a hold half of whose nodes look absent.
func (c *Client) acquire(ctx context.Context, lock *quorumLock, ask *redisstore.Ask) (luacall.AcquireReply, error) {
	began := c.clock.Now()
	if now := virtual(began); ask.NotAfter < now {
		return answer(store.AcquireReply{Status: store.TooLate}, now), nil // tells our time; no node is asked
	}
	if h := c.holds.find(ask.ID); h != nil {
		if fence, ok := h.standing(); ok {
			return answer(store.AcquireReply{Status: store.Already, Fence: fence}, virtual(began)), nil
		}
		c.holds.again(ask.ID)
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
	reply, short := h.outcome()
	if short != nil {
		return luacall.AcquireReply{}, short()
	}
	return answer(reply, c.middle(began)), nil
}

// answer is an answer with the time of this client, which stands for that of a server.
func answer(reply store.AcquireReply, now int64) luacall.AcquireReply {
	return luacall.AcquireReply{AcquireReply: reply, Now: now}
}

// await waits for the decision: one NodeTimeout, and as long again if the token must still be stored, or if nodes are
// being asked once more over new connections.
//
// The second wait cannot be added a third time.
func (h *hold) await(ctx context.Context) {
	if h.client.wait(ctx, h.decided) {
		return
	}
	h.mu.Lock()
	again := !h.done && (h.phase == confirming || h.askedAgainLocked())
	h.mu.Unlock()
	if again {
		h.client.wait(ctx, h.decided)
	}
}

// askedAgainLocked reports that some node is being asked for the second time.
func (h *hold) askedAgainLocked() bool {
	for i, n := range h.client.nodes {
		if h.spots[i].stand == asked && n.sendsAgain() {
			return true
		}
	}
	return false
}

// outcome settles the attempt. An attempt without a quorum releases its grants wherever they may be, and short makes
// its error, for which no mutex is held: it looks at errors that may be the application's.
//
// A vote may arrive between the end of await and the mutex. It counts, because only the phase under mu decides:
// if the vote completed the quorum, the hold is live. Once this function has set done and has freed the hold, a
// late vote finds the phase over, and is released.
func (h *hold) outcome() (reply store.AcquireReply, short func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.client
	if h.phase == held {
		return store.AcquireReply{Status: store.Held, Fence: h.fence, Spare: h.spare}, nil
	}
	if !h.done { // the answers did not decide it
		h.done = true
		h.mark(asked)
		if h.phase == confirming {
			h.mark(granted) // and accepted the token
		}
	}
	yes, failed := h.countLocked(member)+h.countLocked(granted), maps.Clone(h.failed)
	h.freeLocked()
	// Nodes that answer "busy" are contended for, and that is why the attempt failed, unless too many other nodes did
	// not answer at all.
	spare := len(c.nodes) - c.quorum
	if len(failed) > spare || len(h.busy) == 0 {
		c.holds.again(h.id)
		busy := len(h.busy)
		return reply, func() error { return c.noQuorum(yes, busy, failed) }
	}
	slices.Sort(h.busy)
	// Once all but the spare leases have expired, the rest do not prevent a quorum. For the ticket see nodeID.
	// An example with five nodes, of which three are needed and two may be spared: three are busy, for 5 s, 8 s
	// and 9 s. After 5 s only two are, and the other three make a quorum. So the wait is that of number 3-2-1 =
	// 0.
	left := h.busy[max(len(h.busy)-spare-1, 0)]
	if yes == 0 {
		return store.AcquireReply{Status: store.Busy, PTTL: left, Ticket: 1}, nil
	}
	return store.AcquireReply{Status: store.Busy, PTTL: min(left, h.splitPause()), Ticket: h.split + 2}, nil
}

// mark records, for the error's text, that nodes in these states did not answer.
func (h *hold) mark(stands ...stand) {
	for i, n := range h.client.nodes {
		if h.failed[n] == nil && slices.Contains(stands, h.spots[i].stand) {
			h.failed[n] = errNever
		}
	}
}

// standing returns the token of a hold that has not been given up.
func (h *hold) standing() (fence int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fence, h.phase == held
}

// middle is the midpoint between then and now, which the engine takes for the time of an answer.
func (c *Client) middle(then time.Duration) int64 {
	return virtual(then + (c.clock.Now()-then)/2)
}

// wait waits for an event, at most NodeTimeout. It reports whether the event came.
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

// free ends a hold: it releases the hold wherever it may be, and reports to the engine what a quorum says.
//
// The engine repeats it after an error. The second call finds the releases of the first one under way, or
// answered: freeLocked then does nothing, and the wait is for the same result. The hold is forgotten only once its
// result is known to a call, so a repetition does not mistake it for one that is gone.
func (c *Client) free(ctx context.Context, h *hold) (luacall.ReleaseReply, error) {
	began := c.clock.Now()
	h.mu.Lock()
	h.awaited = true // the answer is kept for this call, or the next one
	h.freeLocked()
	h.mu.Unlock()
	reply, short := h.freeOutcome(c.wait(ctx, h.freed))
	if short != nil {
		return luacall.ReleaseReply{}, short()
	}
	return luacall.ReleaseReply{ReleaseReply: reply, Now: c.middle(began)}, nil
}

// freeOutcome settles the release, for a call that has waited for it. Short makes its error, like that of outcome.
func (h *hold) freeOutcome(answered bool) (reply store.ReleaseReply, short func() error) {
	c := h.client
	h.mu.Lock()
	defer h.mu.Unlock()
	if !answered {
		h.mark(leaving, asked)
		h.tallyLocked()
	}
	reply.Status = store.Done
	switch {
	case !h.settled:
		without, failed := h.countLocked(absent), maps.Clone(h.failed)
		return reply, func() error { return c.noQuorum(without, 0, failed) }
	case h.lost:
		reply.Status = store.Gone
	case h.yes > 0:
		reply.Receivers = h.others
	}
	c.holds.remove(h)
	return reply, nil
}

// freeLocked releases the hold at every node where it may be. A request that was not sent yet never will be; while
// one is under way, nothing is sent before its answer.
//
// counted marks the nodes whose answers say whether the hold was live to the end. They are those that had it,
// or may have got it from a request under way, when a live hold ended. An attempt that never had a quorum
// counts none.
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
			if at.stand = absent; at.unsure {
				at.stand = doubtful
			}
		}
		at.counted = believed && (at.stand == member || at.stand == granted || at.stand == asked)
		h.releaseLocked(i)
	}
	h.tallyLocked()
}

// releaseLocked makes node i release the hold if it may have it. Releases are repeated until the node says that the
// hold is not there, at a time after which no request for it can be carried out any more, or until the lease of the
// last such request has ended.
//
// A timeline shows why one release is not always enough, for a request whose not-after is 5,000 by the node's
// clock:
//
//	client: acquire ......... no answer ... release ........................ release at 5,001
//	node:             (stuck on its way)      4,200: not there   4,900: grants     gone
//
// The first release finds nothing, and the grant comes after it. The node's answer shows its clock, so the
// client knows that the request could still be carried out, and asks again when that is over. A request that
// arrives after its not-after is refused.
//
// The end is the guard time, which no lease exceeds, and two link timeouts after the release was queued.
// Whatever the node may have granted has expired by then.
func (h *hold) releaseLocked(i int) {
	at, c := &h.spots[i], h.client
	doubt := at.unsure && c.clocks.Left(c.nodes[i].addr, c.clock.Now(), at.notAfter) > 0
	switch {
	case at.stand == asked, at.stand == leaving, at.stand == absent && !doubt:
		return
	}
	at.stand = leaving
	now, live := c.clock.Now(), h.live
	cmd := &command{urgent: true, lasting: true, end: now + c.guard + 2*c.patience}
	cmd.make = func(time.Duration) *luacall.Call[luacall.QuorumReply] {
		return c.nodes[i].server.Release(luacall.ReleaseArgs{
			Lock: h.lock.key, ID: h.nodeID, Channel: h.lock.channel, WantNow: true, NoMessage: !live,
		})
	}
	first := true // no copy of this request can have been carried out before
	cmd.onAnswer = func(_ *command, reply luacall.QuorumReply, err error) bool {
		first = first && !cmd.copied
		failed := err != nil && !errors.Is(err, luacall.ErrConflict) // these may run code of the application's
		settled, hopeless := failed && (unsent(err) || answered(err)), failed && isHopeless(err)
		h.mu.Lock()
		defer h.mu.Unlock()
		if failed {
			h.failed[c.nodes[i]] = err
			first = first && settled
			if c.clock.Now() < cmd.end && !hopeless {
				h.tallyLocked()
				return true
			}
			h.awaited = false // no caller waits that long
		}
		if err == nil && reply.Status == luacall.Done {
			h.others = max(h.others, c.nodes[i].others(h.lock.channel, reply.Receivers))
		}
		if at.counted && err == nil && (reply.Status == luacall.Done || !first) {
			h.yes++
		}
		at.counted = false
		delete(h.failed, c.nodes[i])
		again := serverclock.Again(store.Late(at.notAfter), reply.Now)
		if now := c.clock.Now(); doubt && err == nil && again > 0 && now < cmd.end {
			h.failed[c.nodes[i]], cmd.due = errDoubt, now+again
			h.tallyLocked() // it is gone, and nobody waits for what may still come
			return true
		}
		at.stand = absent
		h.tallyLocked()
		return false
	}
	if err := c.nodes[i].submit(cmd); err != nil {
		at.stand, at.counted = absent, false
		h.failed[c.nodes[i]] = err
	}
}

// tallyLocked draws the conclusion from the releases so far. If a quorum had the hold, it was never lost. If too
// few nodes that had it answer, it suffices that a quorum does not have it any more, and that with the silent
// nodes a quorum may have had it to the end. With three nodes: two that released it settle it. One that released
// it, one that did not have it and a silent one settle it too, because the silent one may have had it. Two that
// did not have it mean that it was lost.
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
		h.client.holds.remove(h)
	}
}
