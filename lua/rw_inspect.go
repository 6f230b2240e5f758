package lua

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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
	held, ok := r.values[3].([]any)
	if !ok {
		r.fail(fmt.Errorf("lua: the holders of a lock were expected, not %v", r.values[3]))
	}
	for i := 0; i+2 < len(held); i += 3 {
		reply.Holders = append(reply.Holders, holderRW(&r, held[i:]))
	}
	return reply, r.err
}

// holderRW reads a field, its value, which is the count and perhaps an operation number, and a TTL.
func holderRW(r *reader, held []any) Holder {
	field, _ := held[0].(string)
	value, _ := held[1].(string)
	ttl, ok := held[2].(int64)
	if !ok {
		r.fail(fmt.Errorf("lua: a TTL was expected, not %v", held[2]))
	}
	text, _, _ := strings.Cut(value, ":")
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail(&conflictError{reason: "the count of a hold is not an integer", cause: err})
	}
	return Holder{
		ID:    strings.TrimSuffix(field, ":write"),
		Count: count,
		TTL:   time.Duration(ttl) * time.Millisecond,
	}
}
