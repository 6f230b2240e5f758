package lua

import "time"

var (
	acquireScript = newScript("acquire")
	mintScript    = newScript("mint")
)

// AcquireArgs says what [Acquire] takes, and for whom.
type AcquireArgs struct {
	Lock     string // key of the lock
	Token    string // key of the fencing token, in the lock's slot; "": none is minted
	ID       string // hold id; of this acquisition only
	Lease    int64  // ms
	NotAfter int64  // server time in µs, after which nothing must happen any more
	FenceTTL int64  // ms for which an unused token is kept at least; negative: for ever
}

// AcquireReply is the answer to [Acquire].
type AcquireReply struct {
	Status Status        // Held, Already, Busy or Late
	Fence  int64         // Held: the new token; Already: the stored one; 0: there is none
	PTTL   time.Duration // Busy and Already: what is left of the lease that stands
	Now    int64         // server time in µs
}

// Acquire takes the lock if it is free.
func Acquire(a AcquireArgs) *Call[AcquireReply] {
	if err := check("acquire",
		checkKey("lock", a.Lock), checkID(a.ID),
		checkTTL("lease", a.Lease), checkFenceTTL(a.FenceTTL)); err != nil {
		return refuse[AcquireReply](err)
	}
	if a.Token == "" {
		return newCall(&acquireScript, 1, decodeAcquire,
			a.Lock, a.ID, a.Lease, a.NotAfter, a.FenceTTL)
	}
	return newCall(&acquireScript, 2, decodeAcquire,
		a.Lock, a.Token, a.ID, a.Lease, a.NotAfter, a.FenceTTL)
}

func decodeAcquire(value any) (AcquireReply, error) {
	r := newReader(value, 4)
	reply := AcquireReply{Status: r.status(0), Fence: r.fence(1), PTTL: r.ttl(2), Now: r.int(3)}
	return reply, r.err
}

// MintReply is the answer to [Mint].
type MintReply struct {
	Fence int64
	Now   int64 // server time in µs
}

// Mint makes a new fencing token, for a hold that [Acquire] took without one because both
// keys could not be had at once. A second copy makes another, higher one: of a resent Mint
// the answer that arrived counts, and any number lost on the way is below the next.
func Mint(token string, fenceTTL int64) *Call[MintReply] {
	if err := check("mint", checkKey("token", token), checkFenceTTL(fenceTTL)); err != nil {
		return refuse[MintReply](err)
	}
	return newCall(&mintScript, 1, decodeMint, token, fenceTTL)
}

func decodeMint(value any) (MintReply, error) {
	r := newReader(value, 2)
	reply := MintReply{Fence: r.fence(0), Now: r.int(1)}
	return reply, r.err
}
