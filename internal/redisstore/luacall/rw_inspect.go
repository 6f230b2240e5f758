package luacall

import (
	"strings"
)

var inspectRWScript = newScript("rw_inspect")

// InspectRWArgs says at which side of a read-write lock [InspectRW] looks.
type InspectRWArgs struct {
	Lock, Token, Channel string // the token may be ""
	Base                 string // what the names of hold keys begin with
	Write                bool   // the writer; else the readers
	Sharded              bool
}

// InspectRW tells who holds one side of a read-write lock, or some of them if they are very many. A writer's ID is
// the field in Redis without the ending ":write".
func InspectRW(a InspectRWArgs) *Call[InspectReply] {
	if err := check("rw_inspect", checkKey("lock", a.Lock), checkKey("channel", a.Channel)); err != nil {
		return refuse[InspectReply](err)
	}
	count, side := "NUMSUB", "read"
	if a.Sharded {
		count = "SHARDNUMSUB"
	}
	if a.Write {
		side = "write"
	}
	args := []any{a.Lock, a.Token, a.Channel, count, side, a.Base, MaxInspected}
	if a.Token == "" {
		return newCall(&inspectRWScript, 1, decodeInspectRW, append(args[:1:1], args[2:]...)...)
	}
	return newCall(&inspectRWScript, 2, decodeInspectRW, args...)
}

func decodeInspectRW(value any) (InspectReply, error) {
	r := newReader(value, 5)
	reply := InspectReply{PTTL: r.ttl(0), Fence: r.fence(1), Subscribers: r.int(2), More: r.int(4)}
	held := r.list(3, 3) // field, value, which is the count and perhaps an operation number, and TTL
	for i := 0; i < len(held.values); i += 3 {
		count, _, _ := strings.Cut(held.text(i+1), ":")
		reply.Holders = append(reply.Holders, Holder{
			ID: strings.TrimSuffix(held.text(i), ":write"), Count: held.count(count), TTL: held.ttl(i + 2),
		})
	}
	r.fail(held.err)
	return reply, r.err
}
