package luacall

import (
	"github.com/holdfast-go/holdfast/internal/store"
)

var (
	reenterScript = newScript("reenter")
	leaveScript   = newScript("leave")
)

// ReenterArgs are the arguments of [Reenter].
type ReenterArgs struct {
	Lock, ID string
	Count    int64 // levels of the hold
	Op       int64 // operation number: above every earlier one of this hold
	TTL      int64 // ms that the lock must live from now at least; 0: no change
}

// LeaveArgs are the arguments of [Leave].
type LeaveArgs struct {
	Lock, ID string
	Count    int64 // remaining levels
	Op       int64 // operation number: above every earlier one of this hold
	TTL      int64 // ms that the lock lives from now: the longest lease of the remaining levels
}

// StepReply is the answer to [Reenter] and [Leave].
type StepReply = store.StepReply

// Reenter writes how many levels a hold has. It may lengthen the lease, never shorten it.
func Reenter(a ReenterArgs) *Call[StepReply] {
	return step("reenter", &reenterScript, a, checkLeastTTL(a.TTL))
}

// Leave takes one level off a hold that keeps others, and sets the lease to theirs.
func Leave(a LeaveArgs) *Call[StepReply] {
	return step("leave", &leaveScript, ReenterArgs(a), checkTTL("TTL", a.TTL))
}

func step(name string, s *script, a ReenterArgs, ttl error) *Call[StepReply] {
	if err := check(name,
		checkKey("lock", a.Lock), checkID(a.ID),
		checkStep(a.Count, a.Op), ttl); err != nil {
		return refuse[StepReply](err)
	}
	return newCall(s, 1, decodeStep, a.Lock, a.ID, a.Count, a.Op, a.TTL)
}

func decodeStep(value any) (StepReply, error) {
	r := reader{values: []any{value}}
	return StepReply{Status: r.status(0, stepped)}, r.err
}
