package luacall

import "fmt"

// The scripts of a lock that is held by a quorum of independent nodes. Each works at one node; the
// caller decides what their answers mean together. They share a reply type, so that all requests to a
// node at the same time can go in one pipeline.
var (
	quorumAcquireScript = newScript("quorum_acquire")
	quorumRenewScript   = newScript("quorum_renew")
)

// Young is the status of a vote that was refused because the server was started too recently.
const Young Status = -2

// QuorumReply is the answer of one node.
type QuorumReply struct {
	AcquireReply       // Fence: the accepted token, or the least that the node would accept
	Accepted     bool  // the token that was sent is stored; of a hold that stands elsewhere, or a higher one
	Receivers    int64 // of the message of a release; -1: not published
	Renewals     []RenewStatus
	Seen         InspectReply
}

// QuorumAcquireArgs are the arguments of [QuorumAcquire].
type QuorumAcquireArgs struct {
	Lock, Token string
	ID          string // hold id, used only for this attempt
	Lease       int64  // ms
	NotAfter    int64  // server time in µs, after which the call has no effect
	Fence       int64  // the proposed token; 0: none
	Window      int64  // µs that it may be ahead of the node's clock; negative: it is taken as it is
	FenceTTL    int64  // ms for which an unused token is kept at least; negative: no expiry
	LeastUptime int64  // s that the server must have been up; 0: not checked
}

// QuorumAcquire takes the lock at one node if it is free there. Status: Held, Already, Busy, TooLate or
// Young.
func QuorumAcquire(a QuorumAcquireArgs) *Call[QuorumReply] {
	if err := check("quorum_acquire",
		checkKey("lock", a.Lock), checkKey("token", a.Token), checkID(a.ID),
		checkTTL("lease", a.Lease), checkFence(a.Fence), checkFenceTTL(a.FenceTTL)); err != nil {
		return refuse[QuorumReply](err)
	}
	return newCall(&quorumAcquireScript, 2, decodeQuorum, a.Lock, a.Token, a.ID, a.Lease, a.NotAfter,
		a.Fence, a.Window, a.FenceTTL, max(a.LeastUptime, 0))
}

var votes = append(statuses{Young}, acquired...)

// decodeQuorum decodes the answer to a request for a vote.
func decodeQuorum(value any) (QuorumReply, error) {
	r := newReader(value, 6)
	reply := QuorumReply{Accepted: r.int(1) == 1}
	reply.Status, reply.Fence, reply.PTTL, reply.Now = r.status(0, votes), r.fence(2), r.ttl(3), r.int(4)
	reply.Spare = r.int(5)
	return reply, r.err
}

// QuorumHold is one hold that [QuorumRenew] renews.
type QuorumHold struct {
	Lock, Token, ID string
	TTL             int64 // ms that the lock must live from now at least
	Fence           int64
}

// QuorumRenew renews holds at one node and raises their tokens there. Renewals has one answer for each
// hold.
func QuorumRenew(holds []QuorumHold, fenceTTL int64) *Call[QuorumReply] {
	if len(holds) == 0 {
		return refuse[QuorumReply](fmt.Errorf("lua: quorum_renew: no holds"))
	}
	args := make([]any, 0, 1+5*len(holds))
	for _, h := range holds {
		args = append(args, h.Lock, h.Token)
	}
	args = append(args, fenceTTL)
	for _, h := range holds {
		if err := check("quorum_renew",
			checkKey("lock", h.Lock), checkKey("token", h.Token), checkID(h.ID),
			checkTTL("TTL", h.TTL), checkFence(h.Fence), checkFenceTTL(fenceTTL)); err != nil {
			return refuse[QuorumReply](err)
		}
		args = append(args, h.ID, h.TTL, h.Fence)
	}
	size := len(holds)
	return newCall(&quorumRenewScript, 2*size, func(value any) (QuorumReply, error) {
		renewals, err := decodeRenew(value, size)
		return QuorumReply{Renewals: renewals}, err
	}, args...)
}

// QuorumRelease is [Release] at one node.
func QuorumRelease(a ReleaseArgs) *Call[QuorumReply] {
	return adapt(Release(a), func(from ReleaseReply) (to QuorumReply) {
		to.Status, to.Now, to.Receivers = from.Status, from.Now, from.Receivers
		return to
	})
}

// QuorumInspect is [Inspect] at one node.
func QuorumInspect(lock, token, channel string) *Call[QuorumReply] {
	return adapt(Inspect(lock, token, channel, false), func(from InspectReply) QuorumReply {
		return QuorumReply{Seen: from}
	})
}

// adapt converts a call's reply to another type.
func adapt[A, B any](c *Call[A], turn func(A) B) *Call[B] {
	turned := func(reply A, err error) (B, error) {
		if err != nil {
			var none B
			return none, err
		}
		return turn(reply), nil
	}
	to := &Call[B]{script: c.script, args: c.args, invalid: c.invalid}
	if c.ints != nil {
		to.ints = func(values []int64) (B, error) { return turned(c.ints(values)) }
	} else {
		to.decode = func(value any) (B, error) { return turned(c.decode(value)) }
	}
	return to
}

func checkFence(fence int64) error {
	if fence < 0 || fence >= maxExact-1 {
		return fmt.Errorf("a fencing token of %d is not between 0 and %d", fence, int64(maxExact-2))
	}
	return nil
}
