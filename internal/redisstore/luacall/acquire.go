package luacall

import "github.com/holdfast-go/holdfast/internal/store"

var acquireScript = newScript("acquire")

// AcquireArgs are the arguments of [Acquire].
type AcquireArgs struct {
	Lock     string // key of the lock
	Token    string // key of the fencing token, in the lock's slot
	ID       string // hold id; of this acquisition only
	Lease    int64  // hold id, used only for this acquisition
	NotAfter int64  // server time in µs, after which the call has no effect
	FenceTTL int64  // ms for which an unused token is kept at least; negative: no expiry
}

// AcquireReply is the answer to [Acquire] and its like.
type AcquireReply struct {
	store.AcquireReply
	Now int64 // server time in µs
}

// Dated says whether the request came too late, and the server's time.
func (r AcquireReply) Dated() (tooLate bool, now int64) { return r.Status == TooLate, r.Now }

// Acquirer makes calls of [Acquire] that differ only in the hold id, the lease and the not-after. It
// checks and prepares the rest once.
type Acquirer struct {
	lock, token, lease, fenceTTL any
	leaseTTL                     int64 // the lease that the field lease was made of
	invalid                      error
}

// PrepareAcquire uses Lock, Token, Lease and FenceTTL. Calls with that lease are the cheapest.
func PrepareAcquire(a AcquireArgs) *Acquirer {
	return &Acquirer{
		lock: a.Lock, token: a.Token, lease: a.Lease, leaseTTL: a.Lease, fenceTTL: a.FenceTTL,
		invalid: check("acquire", checkKey("lock", a.Lock), checkKey("token", a.Token), checkFenceTTL(a.FenceTTL)),
	}
}

// Call takes the lock if it is free. Times are in ms, and in µs of the server's clock.
func (p *Acquirer) Call(id string, lease, notAfter int64) *Call[AcquireReply] {
	err := p.invalid
	if err == nil {
		err = check("acquire", checkID(id), checkTTL("lease", lease))
	}
	if err != nil {
		return refuse[AcquireReply](err)
	}
	args := []any{"evalsha", acquireScript.sha, 2, p.lock, p.token, id, p.ttl(lease), notAfter, p.fenceTTL}
	return &Call[AcquireReply]{script: &acquireScript, args: args, ints: acquireReply}
}

// ttl is a lease in the form in which it is sent.
func (p *Acquirer) ttl(lease int64) any {
	if lease == p.leaseTTL {
		return p.lease
	}
	return lease
}

// Acquire takes the lock if it is free.
func Acquire(a AcquireArgs) *Call[AcquireReply] {
	return PrepareAcquire(a).Call(a.ID, a.Lease, a.NotAfter)
}

// acquireNumbers is how many numbers an acquisition returns.
const acquireNumbers = 5

func acquireReply(v []int64) (AcquireReply, error) {
	if len(v) != acquireNumbers {
		return AcquireReply{}, wrongLength(v, acquireNumbers)
	}
	status, err := acquired.of(v[0])
	reply := store.AcquireReply{Status: status, Fence: v[1], PTTL: milliseconds(v[2])}
	if status == Busy {
		reply.Recalled = v[4] != 0
	} else {
		reply.Spare = v[4]
	}
	return AcquireReply{reply, v[3]}, err
}

// decodeAcquire is acquireReply for scripts of other primitives, which may also return text.
func decodeAcquire(value any) (AcquireReply, error) {
	r := newReader(value, 4)
	reply := AcquireReply{
		store.AcquireReply{Status: r.status(0, acquired), Fence: r.fence(1), PTTL: r.ttl(2)}, r.int(3),
	}
	return reply, r.err
}
