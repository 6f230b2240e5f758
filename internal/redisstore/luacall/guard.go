package luacall

import (
	"fmt"
	"strconv"
)

var guardScript = newScript("guard")

// GuardArgs are the arguments of [Guard].
type GuardArgs struct {
	Key     string // that is guarded
	Token   string // the key of the newest token
	Fence   int64
	TTL     int64 // ms that the token is kept
	Command string
	Args    []any // after the key
}

// GuardReply is the answer to [Guard].
type GuardReply struct {
	Newest int64 // a newer token; 0: the command was carried out
	Value  any   // what it returned; nil for a nil reply
}

// MaxGuarded is how many arguments a guarded command may have: Lua's stack is small.
const MaxGuarded = 4000

// Guard carries out one command on a key, unless a newer fencing token was seen there.
func Guard(a GuardArgs) *Call[GuardReply] {
	err := check("guard", checkKey("key", a.Key), checkKey("token", a.Token), checkTTL("TTL", a.TTL),
		checkToken(a.Fence), checkKey("command", a.Command))
	if err == nil && len(a.Args) > MaxGuarded {
		err = fmt.Errorf("lua: guard: %d arguments are more than %d", len(a.Args), MaxGuarded)
	}
	if err != nil {
		return refuse[GuardReply](err)
	}
	args := append([]any{a.Key, a.Token, a.Fence, a.TTL, a.Command}, a.Args...)
	return newCall(&guardScript, 2, decodeGuard, args...)
}

func decodeGuard(value any) (reply GuardReply, err error) {
	values, ok := value.([]any)
	if ok && len(values) == 1 { // a nil reply ends a table of Lua
		values = append(values, nil)
	}
	r := newReader(values, 2)
	switch done := r.int(0); {
	case r.err != nil:
		return reply, r.err
	case done == 1:
		return GuardReply{Value: r.values[1]}, nil
	case done != 0:
		return reply, &ReplyError{fmt.Sprintf("the status %d", done)}
	}
	text, _ := r.values[1].(string)
	if reply.Newest, err = strconv.ParseInt(text, 10, 64); err != nil {
		return reply, fmt.Errorf("lua: the token of a guarded key is not an integer: %w", err)
	}
	return reply, nil
}
