package lua

import "github.com/holdfast-go/holdfast/internal/store"

var (
	handoffScript = newScript("handoff")
	adoptScript   = newScript("adopt")
)

// HandoffArgs are the arguments of [Handoff].
type HandoffArgs struct {
	Lock     string
	Token    string // key of the fencing token, in the lock's slot; "": none is minted
	From, To string // hold ids
	Lease    int64  // ms, of the new hold
	NotAfter int64  // server time in µs, after which the call has no effect
	FenceTTL int64  // ms for which an unused token is kept at least; negative: no expiry
}

// HandoffReply is the answer to [Handoff].
type HandoffReply = store.HandoffReply

// Handoff ends one hold and begins another atomically: the lock is not free in between.
func Handoff(a HandoffArgs) *Call[HandoffReply] {
	if err := check("handoff",
		checkKey("lock", a.Lock), checkMove(a.From, a.To),
		checkTTL("lease", a.Lease), checkFenceTTL(a.FenceTTL)); err != nil {
		return refuse[HandoffReply](err)
	}
	if a.Token == "" {
		return newCall(&handoffScript, 1, decodeHandoff,
			a.Lock, a.From, a.To, a.Lease, a.NotAfter, a.FenceTTL)
	}
	return newCall(&handoffScript, 2, decodeHandoff,
		a.Lock, a.Token, a.From, a.To, a.Lease, a.NotAfter, a.FenceTTL)
}

func decodeHandoff(value any) (HandoffReply, error) {
	r := newReader(value, 4)
	reply := HandoffReply{Status: r.status(0), Fence: r.fence(1), Now: r.int(2), Spare: r.int(3)}
	return reply, r.err
}

// AdoptArgs are the arguments of [Adopt].
type AdoptArgs struct {
	Lock     string
	From, To string // hold ids: the exported one, the importer's
	Lease    int64  // ms
	NotAfter int64  // server time in µs, after which the call has no effect
	Stays    bool   // of a reader: the hold at From stays, and the new one is made beside it
}

// AdoptReply is the answer to [Adopt].
type AdoptReply = store.AdoptReply

// Adopt moves an exported hold to the id of its importer. The fencing token stays.
func Adopt(a AdoptArgs) *Call[AdoptReply] {
	if err := check("adopt",
		checkKey("lock", a.Lock), checkMove(a.From, a.To),
		checkTTL("lease", a.Lease)); err != nil {
		return refuse[AdoptReply](err)
	}
	return newCall(&adoptScript, 1, decodeAdopt, a.Lock, a.From, a.To, a.Lease, a.NotAfter)
}

func decodeAdopt(value any) (AdoptReply, error) {
	r := newReader(value, 2)
	reply := AdoptReply{Status: r.status(0), Now: r.int(1)}
	return reply, r.err
}
