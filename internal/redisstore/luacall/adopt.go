package luacall

import "github.com/holdfast-go/holdfast/internal/store"

var adoptScript = newScript("adopt")

// AdoptArgs are the arguments of [Adopt].
type AdoptArgs struct {
	Lock     string
	From, To string // the hold's id, and its new one
	Lease    int64  // ms
	NotAfter int64  // server time in µs, after which the call has no effect
	Stays    bool   // of a reader: the hold at From stays, and the new one is made beside it
}

// Adopt gives a hold another id, as it is exported and as it is imported. The fencing token stays.
func Adopt(a AdoptArgs) *Call[AcquireReply] {
	if err := check("adopt",
		checkKey("lock", a.Lock), checkMove(a.From, a.To),
		checkTTL("lease", a.Lease)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&adoptScript, 1, decodeAdopt, a.Lock, a.From, a.To, a.Lease, a.NotAfter)
}

func decodeAdopt(value any) (AcquireReply, error) {
	r := newReader(value, 2)
	reply := AcquireReply{store.AcquireReply{Status: r.status(0, adopted)}, r.int(1)}
	return reply, r.err
}
