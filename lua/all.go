package lua

import (
	"context"
	"slices"
	"time"
)

var acquireAllScript = newScript("acquire_all")

// Member is one of several locks that are taken by one script.
type Member struct {
	Lock  string // key of the lock
	Token string // key of its fencing token, in the same slot
	Lease int64  // ms
}

// AcquireAllReply is the answer to [AcquireAll].
type AcquireAllReply struct {
	Status Status        // Held, Already, Busy or Late
	Which  int           // Busy: the member in question
	PTTL   time.Duration // Busy: what is left of its lease
	Now    int64         // server time in µs
	Fences []int64       // Held and Already: the tokens, one per member
}

// AcquireAll takes all locks, or none. All keys must be in one slot.
func AcquireAll(members []Member, id string, notAfter, fenceTTL int64) *Call[AcquireAllReply] {
	errs := []error{checkID(id), checkFenceTTL(fenceTTL)}
	args := make([]any, 0, 3*len(members)+3)
	for _, m := range members {
		errs = append(errs, checkKey("lock", m.Lock), checkKey("token", m.Token),
			checkTTL("lease", m.Lease))
		args = append(args, m.Lock)
	}
	for _, m := range members {
		args = append(args, m.Token)
	}
	if err := check("acquire_all", errs...); err != nil {
		return refuse[AcquireAllReply](err)
	}
	args = append(args, id, notAfter, fenceTTL)
	for _, m := range members {
		args = append(args, m.Lease)
	}
	decode := func(value any) (AcquireAllReply, error) { return decodeAcquireAll(value, len(members)) }
	return newCall(&acquireAllScript, 2*len(members), decode, args...)
}

func decodeAcquireAll(value any, members int) (AcquireAllReply, error) {
	r := newReader(value, 5)
	reply := AcquireAllReply{
		Status: r.status(0), Which: int(r.int(1)) - 1, PTTL: r.ttl(2), Now: r.int(3),
	}
	if r.err == nil && (reply.Status == Held || reply.Status == Already) {
		fences := newReader(r.values[4], members)
		for i := range members {
			reply.Fences = append(reply.Fences, fences.fence(i))
		}
		r.fail(fences.err)
	}
	return reply, r.err
}

// ReleaseAll ends several holds. All keys must be in one slot; while that is being moved, the calls
// of one key each that the arguments describe are sent one after the other. A reply that is [Apart] says
// that something else than a lock is at the key, or that Redis refused: the call by itself tells.
func ReleaseAll(all []ReleaseArgs) *Call[[]ReleaseReply] {
	var errs []error
	publish := "PUBLISH"
	args := make([]any, 0, 3*len(all)+4)
	args = append(args, "evalsha", releaseManyScript.sha, len(all))
	for _, a := range all {
		errs = append(errs, checkKey("lock", a.Lock), checkID(a.ID), checkKey("channel", a.Channel))
		args = append(args, a.Lock)
		if a.Sharded {
			publish = "SPUBLISH"
		}
	}
	if err := check("release_all", errs...); err != nil {
		return refuse[[]ReleaseReply](err)
	}
	args = append(args, publish)
	for _, a := range all {
		args = append(args, a.ID, a.Channel)
	}
	decode := func(values []int64) ([]ReleaseReply, error) { return decodeReleaseAll(values, len(all)) }
	call := &Call[[]ReleaseReply]{script: &releaseManyScript, args: args, ints: decode}
	return call.OrElse(releaseEach(all))
}

// releaseEach sends one release after the other. A reply that was lost on the way is the error of all:
// each can be sent again.
func releaseEach(all []ReleaseArgs) *Call[[]ReleaseReply] {
	return With(func(ctx context.Context, conn Conn) ([]ReleaseReply, error) {
		replies := make([]ReleaseReply, len(all))
		for i, a := range all {
			var err error
			if replies[i], err = Release(a).Run(ctx, conn); err != nil {
				return nil, err
			}
		}
		return replies, nil
	})
}

func decodeReleaseAll(values []int64, members int) (replies []ReleaseReply, err error) {
	if len(values) != releaseNumbers*members {
		return nil, wrongLength(values, releaseNumbers*members)
	}
	for one := range slices.Chunk(values, releaseNumbers) {
		reply, _ := releaseReply(one) // of the length that it asks for
		replies = append(replies, reply)
	}
	return replies, nil
}
