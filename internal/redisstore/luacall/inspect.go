package luacall

import (
	"github.com/holdfast-go/holdfast/internal/store"
)

var inspectScript = newScript("inspect")

// MaxInspected is the maximum number of holders, and of waiters, that one look returns: Redis does nothing else while
// a script reads them.
const MaxInspected = 1000

// Holder is one hold in Redis.
type Holder = store.Holder

// Queued is one waiter in a queue in Redis.
type Queued = store.Queued

// InspectReply is the answer to [Inspect].
type InspectReply = store.InspectReply

// Inspect asks who holds the lock. Token may be "".
func Inspect(lock, token, channel string, sharded bool) *Call[InspectReply] {
	if err := check("inspect", checkKey("lock", lock), checkKey("channel", channel)); err != nil {
		return refuse[InspectReply](err)
	}
	count := "NUMSUB"
	if sharded {
		count = "SHARDNUMSUB"
	}
	if token == "" {
		return newCall(&inspectScript, 1, decodeInspect, lock, channel, count)
	}
	return newCall(&inspectScript, 2, decodeInspect, lock, token, channel, count)
}

func decodeInspect(value any) (InspectReply, error) {
	r := newReader(value, 4)
	reply := InspectReply{PTTL: r.ttl(0), Fence: r.fence(1), Subscribers: r.int(2)}
	fields := r.list(3, 2)
	reply.Holders = fields.holders()
	r.fail(fields.err)
	return reply, r.err
}

func (r *reader) holders() []Holder {
	var all []Holder
	for i := 0; i < len(r.values); i += 2 {
		all = append(all, Holder{ID: r.text(i), Count: r.count(r.text(i + 1))})
	}
	return all
}
