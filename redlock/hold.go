package redlock

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// stand is what is known of a hold at one node.
//
//	absent --ask--> asked --grant--> granted --token stored--> member --release--> leaving --> absent
//	                  |  \--grant, and the token accepted---------^
//	                  |--refused, busy, or surely not sent--> absent
//	                  \--no answer--> doubtful --release--> leaving
//
// A renewal that finds the hold at a doubtful node makes it a member, and one that does not makes it absent.
type stand uint8

const (
	absent   stand = iota // it is not there
	asked                 // a request that may create it there is queued or under way
	doubtful              // such a request got no answer: the hold may be there
	granted               // it is there, with an older token than its own
	member                // it is there, and the node's token is not below its own
	leaving               // its release is queued or under way
)

// phase is the progress of a hold.
//
// The phases follow one another in this order, and may leave some out; nothing leads back. An attempt that is
// over stays over, however many grants arrive later. So the engine is never told first that an attempt failed,
// and then that it succeeded.
type phase uint8

const (
	asking     phase = iota // the nodes are being asked
	confirming              // a quorum granted; its token is being stored
	held                    // a quorum granted and stored the token
	over                    // it is not live any more, and is being released
)

// hold is one attempt to reach a quorum, and its result. No other attempt has its id, not even one of the same Lock
// call: a late release can then do no harm to the next attempt.
//
// mu is taken by the goroutine of the call and by the send queues, which bring the answers. decided and freed carry
// no values; each is closed at most once, under mu, with done or settled.
// Nobody has to be there to receive, so an answer that comes after its caller has left is handled all the same.
type hold struct {
	client *Client
	lock   *quorumLock
	attempt

	mu    sync.Mutex // guards all below
	phase phase
	spots []spot // one for each node
	tokens
	ballot
	parting
}

// attempt is what the nodes are asked for. It is constant.
type attempt struct {
	id     string // by which the engine knows it
	nodeID string // by which the nodes know it
	lease  int64  // ms
	until  int64  // not-after of its acquisition, in the client's own time
	wish   int64  // the proposed token
	split  int64  // how many attempts before this one, one after another, shared the nodes with others'
}

// tokens are what is known of those of a hold.
type tokens struct {
	fence int64 // from confirming on: the newest of its tokens
	spare int64 // how many numbers right below fence are its tokens too
	offer int64 // the highest token that a node asked for
	floor int64 // no node that granted in time knows of a token at or above it
}

// ballot is what came of asking, beside grants.
type ballot struct {
	decided chan struct{}
	done    bool // no further answer changes it: decided is closed, or the caller has stopped waiting
	failed  map[*node]error
	busy    []time.Duration // the rest of others' leases
}

// parting is what is known of the release of a hold.
type parting struct {
	awaited bool          // the engine waits for the result
	freed   chan struct{} // closed when the result is known
	settled bool          // freed is closed
	lost    bool          // a quorum did not have the hold any more
	yes     int           // nodes that released it
	others  int64         // the other clients that one of them told of it; negative: none could tell
	live    bool          // it was held: others may wait for its release
}

// spot is one node's part.
type spot struct {
	stand    stand
	ask      *command // the request that creates it there
	notAfter int64    // of the last such request, in the node's time
	// never reset: later answers of the node do not show what became of that request
	unsure  bool // such a request got no answer, and may be carried out until then
	counted bool // a release here counts for the quorum
}

func (c *Client) newHold(lock *quorumLock, ask *redisstore.Ask) *hold {
	return &hold{
		client: c, lock: lock,
		attempt: attempt{
			id: ask.ID, nodeID: c.holds.nodeID(ask), lease: ask.Lease.Milliseconds(), until: ask.NotAfter,
			wish: c.propose(c.clock.Now()), split: max(ask.Ticket-1, 0),
		},
		spots:   make([]spot, len(c.nodes)),
		ballot:  ballot{decided: make(chan struct{}), failed: make(map[*node]error)},
		parting: parting{freed: make(chan struct{}), others: -1},
	}
}

// countLocked counts the nodes in one state.
func (h *hold) countLocked(as stand) (n int) {
	for i := range h.spots {
		if h.spots[i].stand == as {
			n++
		}
	}
	return n
}

// askLocked asks node i for its vote. Seed is for a hold that stands elsewhere: the node takes its token as it is.
func (h *hold) askLocked(i int, seed bool, leaseMS, until int64) {
	c, n := h.client, h.client.nodes[i]
	cmd := &command{}
	cmd.make = func(now time.Duration) *luacall.Call[luacall.QuorumReply] {
		return h.prepare(i, cmd, seed, leaseMS, until, now)
	}
	cmd.onAnswer = func(_ *command, reply luacall.QuorumReply, err error) bool { return h.vote(i, cmd, reply, err) }
	h.spots[i].stand, h.spots[i].ask = asked, cmd
	if err := c.nodes[i].submit(cmd); err != nil {
		h.spots[i].stand = absent
		h.failed[n] = err
	}
}

// insistLocked also asks the nodes that are late but not down. Without one of them there is no quorum, and nothing
// would be sent to them.
func (h *hold) insistLocked() {
	for i, n := range h.client.nodes {
		at := &h.spots[i]
		if at.stand != absent {
			continue
		}
		at.ask.patient = true
		if n.submit(at.ask) == nil {
			at.stand = asked
			delete(h.failed, n)
		}
	}
}

// prepare makes the request when it is sent. It returns nil if the vote is no longer needed.
func (h *hold) prepare(
	i int, cmd *command, seed bool, leaseMS, until int64, now time.Duration,
) *luacall.Call[luacall.QuorumReply] {
	c, n := h.client, h.client.nodes[i]
	h.mu.Lock()
	defer h.mu.Unlock()
	at := &h.spots[i]
	if at.ask != cmd || h.phase == over || virtual(now) > until {
		if at.ask == cmd {
			at.stand = absent
		}
		return nil
	}
	left := time.Duration(until-virtual(now)) * time.Microsecond
	at.notAfter = max(at.notAfter, c.clocks.NotAfter(n.addr, now, left))
	args := luacall.QuorumAcquireArgs{Lock: h.lock.key, Token: h.lock.token, ID: h.nodeID, Lease: leaseMS,
		NotAfter: c.clocks.NotAfter(n.addr, now, left), Fence: h.wish, Window: c.window(),
		FenceTTL: c.core.FenceTTL}
	if seed {
		args.Fence, args.Window = h.fence, -1
	}
	if c.perVote {
		args.LeastUptime = c.leastUptime
	}
	return n.server.Acquire(args)
}

// vote handles node i's answer, whenever it comes. It reports whether to ask the node again.
//
// Late answers of a minority are the usual case: with three nodes the call returns with the second grant. The
// third answer finds the hold held, and makes its node a member, which costs nothing and lets the hold survive
// the loss of another node. Or it finds the hold over, because the lock was already released, and the grant is
// taken back. Nobody waits for either.
//
// A node whose clock was not known refuses the first request (its not-after was 0), and says its time. It is
// asked once more, and cmd.urgent marks that as done.
func (h *hold) vote(i int, cmd *command, reply luacall.QuorumReply, err error) (again bool) {
	n := h.client.nodes[i]
	doubt := err != nil && !unsent(err) && !answered(err) // which may run code of the application's
	missed := absent                                      // unless a copy may have got there
	if doubt || cmd.copied {
		missed = doubtful
	}
	if err == nil && reply.Status == luacall.Busy {
		h.client.notices.longLease(n, reply.PTTL, h.client.guard)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := &h.spots[i]
	if at.ask != cmd {
		return false
	}
	at.unsure = at.unsure || missed == doubtful
	switch {
	case err != nil:
		h.failed[n], at.stand = err, missed
	case reply.Status == luacall.TooLate:
		if h.phase != over && !cmd.urgent { // its clock is known by now
			cmd.urgent = true
			return true
		}
		h.failed[n], at.stand = errLate, missed
	case reply.Status == luacall.Young:
		h.failed[n], at.stand = ErrRestarted, missed
	case reply.Status == luacall.Busy:
		h.busy = append(h.busy, reply.PTTL)
		at.stand = absent
	default:
		h.grantLocked(i, reply)
	}
	if h.phase == over {
		at.counted = at.counted && at.stand == granted
		h.releaseLocked(i)
		h.tallyLocked()
	}
	h.weighLocked()
	return false
}

// grantLocked records a grant. A node that grants after the quorum was found becomes a member when it has the token
// of the hold; it may first have to be told.
func (h *hold) grantLocked(i int, reply luacall.QuorumReply) {
	h.offer = max(h.offer, reply.Fence)
	h.spots[i].stand = granted
	switch h.phase {
	case asking:
		h.floor = max(h.floor, reply.Fence-reply.Spare)
		if reply.Accepted {
			h.spots[i].stand = member
		}
	case confirming, held:
		if reply.Accepted && reply.Fence >= h.fence {
			h.spots[i].stand = member
		} else {
			h.raiseLocked(i)
		}
	case over:
	}
}

// weighLocked draws the conclusion from the votes so far.
//
// With five nodes, three are needed. Three members: held, after one round. Two members and a grant: three nodes
// must now have stored the token that is settled; the two members count at once if it is the proposed one, and are
// asked again otherwise. Two grants, two refusals and one still asked: not decided. One grant, three refusals and
// one still asked: no quorum is possible any more, and the caller need not wait for the fifth.
func (h *hold) weighLocked() {
	if h.done {
		return
	}
	q := h.client.quorum
	members, grants, open := h.countLocked(member), h.countLocked(granted), h.countLocked(asked)
	switch {
	case h.phase == asking && members >= q:
		// Every one of them has stored the proposed token: one round was enough.
		h.reserveLocked(h.wish)
		h.heldLocked()
		for i := range h.spots {
			if h.spots[i].stand == granted {
				h.raiseLocked(i)
			}
		}
	case h.phase == asking && members+grants >= q:
		h.phase = confirming
		h.reserveLocked(h.offer)
		for i := range h.spots {
			if h.spots[i].stand == granted || h.spots[i].stand == member && h.fence > h.wish {
				h.spots[i].stand = granted
				h.raiseLocked(i)
			}
		}
		h.weighLocked() // some may have the token already
	case h.phase == confirming && members >= q:
		h.heldLocked()
	case members+grants+open < q:
		h.decideLocked()
	}
}

func (h *hold) heldLocked() {
	h.phase, h.live = held, true
	h.client.holds.add(h)
	h.decideLocked()
}

func (h *hold) decideLocked() {
	h.done = true
	close(h.decided)
}

// raiseLocked asks node i to store the token of the hold, which it does only while the hold stands there.
func (h *hold) raiseLocked(i int) {
	n := h.client.nodes[i]
	cmd := &command{urgent: true}
	cmd.make = func(time.Duration) *luacall.Call[luacall.QuorumReply] {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.phase == over {
			return nil
		}
		return n.server.Renew([]luacall.QuorumHold{h.renewalLocked(h.lease)}, h.client.core.FenceTTL)
	}
	cmd.onAnswer = func(_ *command, reply luacall.QuorumReply, err error) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch {
		case err != nil:
			h.failed[n] = err
			h.unraisedLocked(i)
		case reply.Renewals[0] == luacall.Renewed:
			h.standsLocked(i)
		default:
			h.missingLocked(i)
		}
		h.weighLocked()
		return false
	}
	if err := n.submit(cmd); err != nil {
		h.failed[n] = err
		h.unraisedLocked(i)
	}
}
