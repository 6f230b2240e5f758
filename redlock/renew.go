package redlock

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// round is one call that asks every node about many holds, until a quorum has answered for each.
//
// The nodes' answers come in the send queues' goroutines, in any order, and also after renew has returned. closed
// separates the two: until then an answer may decide the round, afterwards it only updates what is known of its
// node. decided is closed at most once, by weighLocked, and never by conclude, which runs when nobody waits for it any
// more.
type round struct {
	client *Client
	holds  []*hold // nil: this client knows of no such hold
	began  time.Duration

	mu      sync.Mutex // guards all below
	yes, no []int      // nodes, per hold
	failed  map[*node]error
	silent  silent
	closed  bool
	decided chan struct{}
}

func (c *Client) newRound(holds []*hold) *round {
	return &round{client: c, holds: holds, began: c.clock.Now(),
		yes: make([]int, len(holds)), no: make([]int, len(holds)),
		failed: make(map[*node]error), silent: c.silent(), decided: make(chan struct{})}
}

// stale reports that a request of the round has waited for its node until its answer became useless.
//
// A renewal that is sent later would do no harm, but the next one is under way by then.
func (r *round) stale(now time.Duration) bool { return now-r.began > r.client.timeout }

// weighLocked ends the round when no further answer can change its result.
func (r *round) weighLocked() {
	if r.closed {
		return
	}
	if len(r.silent) > 0 {
		for i, h := range r.holds {
			if h != nil && r.sayLocked(i) == luacall.RenewFailed {
				return
			}
		}
	}
	r.closed = true
	close(r.decided)
}

// sayLocked is the nodes' verdict on a hold: a quorum has it, no quorum can have it, or neither yet.
//
// With five nodes: three that have the hold keep it. Three that do not have it leave two, which are no quorum,
// so it is gone. Two of each and one silent node decide nothing: the renewal has failed, the lease goes on, and
// the watchdog tries again.
func (r *round) sayLocked(i int) luacall.RenewStatus {
	switch q, n := r.client.quorum, len(r.client.nodes); {
	case r.holds[i] == nil || r.no[i] > n-q:
		return luacall.RenewGone
	case r.yes[i] >= q:
		return luacall.Renewed
	}
	return luacall.RenewFailed
}

// renewer renews the holds of one client, at all nodes.
type renewer struct{ client *Client }

// Renew implements redisstore.Renewer.
func (r renewer) Renew(_, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.Func(func(ctx context.Context) ([]luacall.RenewStatus, error) {
		return r.client.renew(ctx, ids, ttls)
	})
}

// renew renews holds at all nodes at once, in one script per node. A hold is renewed when a quorum of nodes has had it
// all the time; it is then also given to the other nodes, so that it stands on as many as possible. A hold that no
// quorum has any more is gone, and is not restored.
//
// A quorum that has the hold now may consist of other nodes than the one that granted it. The others got it by a
// request of the acquisition, which no node carries out after its not-after, or by a seed, which is sent only after a
// round in which a quorum had the hold.
func (c *Client) renew(ctx context.Context, ids []string, ttls []int64) ([]luacall.RenewStatus, error) {
	r := c.newRound(make([]*hold, len(ids)))
	for i, id := range ids {
		r.holds[i] = c.holds.find(id)
	}
	for at := range c.nodes {
		r.send(at, ttls)
	}
	c.wait(ctx, r.decided)
	return r.conclude(ttls)
}

// send asks one node about the holds that it may have.
func (r *round) send(at int, ttls []int64) {
	c := r.client
	var asks []luacall.QuorumHold
	var of []int
	for i, h := range r.holds {
		if h == nil {
			continue
		}
		if ask, ok := h.renewalAt(at, ttls[i]); ok {
			asks, of = append(asks, ask), append(of, i)
		} else {
			r.mu.Lock()
			r.no[i]++
			r.mu.Unlock()
		}
	}
	err := error(nil)
	if len(asks) > 0 {
		err = c.nodes[at].submit(&command{urgent: true,
			make: func(now time.Duration) *luacall.Call[luacall.QuorumReply] {
				if r.stale(now) {
					return nil
				}
				return c.nodes[at].server.Renew(asks, c.core.FenceTTL)
			},
			onAnswer: func(_ *command, reply luacall.QuorumReply, err error) bool {
				r.onAnswer(at, of, ttls, reply, err)
				return false
			},
		})
		if err == nil {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed[c.nodes[at]] = err
	}
	delete(r.silent, c.nodes[at])
	r.weighLocked()
}

// onAnswer handles a node's answer, even one that comes after the round ended.
//
// The hold's mutex is taken before the round's here, and released in between: renewedAt returns first. seed is
// called with the round's mutex held, in the order that Client names.
func (r *round) onAnswer(at int, of []int, ttls []int64, reply luacall.QuorumReply, err error) {
	for k, i := range of {
		if err == nil {
			r.holds[i].renewedAt(at, reply.Renewals[k])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, i := range of {
		switch {
		case err != nil:
			r.failed[r.client.nodes[at]] = err
		case reply.Renewals[k] == luacall.Renewed:
			r.yes[i]++
		case reply.Renewals[k] != luacall.RenewFailed:
			r.no[i]++
		}
	}
	delete(r.silent, r.client.nodes[at])
	r.weighLocked()
	for _, i := range of {
		if r.closed && r.sayLocked(i) == luacall.Renewed {
			r.holds[i].seed(ttls[i])
		}
	}
}

// conclude returns the results of the holds. A hold that a quorum has is given to the nodes that lack it.
func (r *round) conclude(ttls []int64) ([]luacall.RenewStatus, error) {
	said, failed, most, why := r.settle(ttls)
	if failed > 0 && failed == len(said) {
		return nil, r.client.noQuorum(most, 0, why) // no mutex is held: an error may be the application's
	}
	return said, nil
}

func (r *round) settle(ttls []int64) (said []luacall.RenewStatus, failed, most int, why map[*node]error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.silent.blame(r.failed)
	said = make([]luacall.RenewStatus, len(r.holds))
	for i, h := range r.holds {
		said[i] = r.sayLocked(i)
		switch {
		case said[i] == luacall.Renewed:
			h.seed(ttls[i])
		case said[i] == luacall.RenewFailed:
			failed, most = failed+1, max(most, r.yes[i])
		case h != nil:
			h.giveUp()
		}
	}
	return said, failed, most, maps.Clone(r.failed)
}

// renewalAt is the question for node i about the hold. It reports false if the node cannot have it.
func (h *hold) renewalAt(i int, ttl int64) (luacall.QuorumHold, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.renewalLocked(ttl), h.phase == held && h.spots[i].stand != absent
}

func (h *hold) renewalLocked(ttl int64) luacall.QuorumHold {
	return luacall.QuorumHold{Lock: h.lock.key, Token: h.lock.token, ID: h.nodeID, TTL: ttl, Fence: h.fence}
}

// renewedAt records node i's answer.
func (h *hold) renewedAt(i int, said luacall.RenewStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case said == luacall.Renewed:
		h.standsLocked(i)
	case said != luacall.RenewFailed:
		h.missingLocked(i)
	}
}

// standsLocked: the hold stands at node i, with its token.
func (h *hold) standsLocked(i int) {
	if at := &h.spots[i]; at.stand != leaving && at.stand != absent {
		at.stand = member
	}
}

// missingLocked: node i does not have the hold. (An unanswered request may still create it there; releaseLocked takes
// care of that.)
//
// A node whose stand is asked or leaving has a request under way, whose own answer decides.
func (h *hold) missingLocked(i int) {
	if at := &h.spots[i]; at.stand == member || at.stand == granted || at.stand == doubtful {
		at.stand = absent
	}
}

// unraisedLocked: node i was not told the token, or perhaps not. While the token is being confirmed the node no
// longer counts; later the next renewal tells it.
func (h *hold) unraisedLocked(i int) {
	if at := &h.spots[i]; h.phase == confirming && at.stand == granted {
		at.stand = doubtful
	}
}

// seed gives the hold to the nodes that lack it. Call it only for a hold that a quorum was just found to have had
// without a gap. With fewer nodes, a node that forgot the hold could complete a quorum again after somebody else held
// the lock in between.
//
// An example with the nodes a, b and c. The hold stands on a and b, and b forgets it (an administrator's DEL).
// Another client then gets the lock from b and c, and releases it. If this hold's next renewal, which only a
// confirms, gave it to b and c again, it would look as if it had never been lost, although two holders were
// live at the same time. So a hold that two of three nodes do not
// have is gone.
func (h *hold) seed(ttl int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := virtual(h.client.clock.Now() + h.client.timeout)
	for i := range h.spots {
		if h.phase == held && h.spots[i].stand == absent {
			h.askLocked(i, true, ttl, until)
		}
	}
}

// giveUp ends a hold that no quorum has any more: its remains are released.
func (h *hold) giveUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freeLocked()
}
