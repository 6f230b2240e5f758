package luacall

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/store"
)

var acquireAllScript = newScript("acquire_all")

// Member is one of several locks that are taken by one script.
type Member struct {
	*Acquirer
	Lease int64 // ms
}

// AcquireAllReply is the answer to [AcquireAll].
type AcquireAllReply struct {
	store.AcquireAllReply
	Now int64 // server time in µs
}

// AcquireAll takes all locks, or none. Each has a fencing token; the first one's life applies to all. All keys
// must be in one slot.
func AcquireAll(members []Member, id string, notAfter int64) *Call[AcquireAllReply] {
	n := len(members)
	args := append(make([]any, 0, 3*n+6), "evalsha", acquireAllScript.sha, 2*n)
	err := checkSome(n)
	if err == nil {
		err = checkID(id)
	}
	for _, m := range members {
		if err == nil {
			err = m.check()
		}
		args = append(args, m.lock)
	}
	if err := check("acquire_all", err); err != nil {
		return refuse[AcquireAllReply](err)
	}
	for _, m := range members {
		args = append(args, m.token)
	}
	args = append(args, id, notAfter, members[0].fenceTTL)
	for _, m := range members {
		args = append(args, m.ttl(m.Lease))
	}
	decode := func(values []int64) (AcquireAllReply, error) { return acquireAllReply(values, n) }
	return &Call[AcquireAllReply]{script: &acquireAllScript, args: args, ints: decode}
}

func checkSome(locks int) error {
	if locks == 0 {
		return errors.New("no locks")
	}
	return nil
}

func (m Member) check() error {
	if m.invalid != nil {
		return m.invalid
	}
	return checkTTL("lease", m.Lease)
}

func acquireAllReply(v []int64, members int) (AcquireAllReply, error) {
	want := 4
	if len(v) < want {
		return AcquireAllReply{}, wrongLength(v, want)
	}
	status, err := acquired.of(v[0])
	switch {
	case err != nil:
	case status.Wrote():
		want += members
	case status == Busy:
		if want++; v[1] < 1 || v[1] > int64(members) {
			err = &ReplyError{fmt.Sprintf("lock %d of %d", v[1], members)}
		}
	}
	if err == nil && len(v) != want {
		err = wrongLength(v, want)
	}
	if err != nil {
		return AcquireAllReply{}, err
	}
	reply := store.AcquireAllReply{Status: status, Which: int(v[1]) - 1, PTTL: milliseconds(v[2]), Fences: v[4:]}
	if status == Busy {
		reply.Recalled, reply.Fences = v[4] != 0, nil
	}
	return AcquireAllReply{reply, v[3]}, nil
}

// Parting is one of several holds that one script ends.
type Parting struct {
	*Releaser
	ID string
}

// ReleaseAll ends several holds. All keys must be in one slot. While that slot is being migrated, one call per
// lock, with one key each, is sent after the other. The reply [Apart] says that the key holds something other
// than a lock, or that Redis refused: a call for that lock alone gives the reason.
func ReleaseAll(all []Parting, sharded bool) *Call[[]ReleaseReply] {
	args := append(make([]any, 0, 3*len(all)+4), "evalsha", releaseManyScript.sha, len(all))
	err := checkSome(len(all))
	for _, one := range all {
		if err == nil {
			err = one.invalid
		}
		if err == nil {
			err = checkID(one.ID)
		}
		args = append(args, one.lock)
	}
	if err := check("release_all", err); err != nil {
		return refuse[[]ReleaseReply](err)
	}
	args = append(args, publishBy(sharded))
	var id any
	for _, one := range all {
		if id != one.ID { // which is the same for all holds that were taken together
			id = one.ID
		}
		args = append(args, id, one.channel)
	}
	decode := func(values []int64) ([]ReleaseReply, error) { return decodeReleaseAll(values, len(all)) }
	call := &Call[[]ReleaseReply]{script: &releaseManyScript, args: args, ints: decode}
	return call.OrElse(releaseEach(all, sharded))
}

// releaseEach sends one release after the other. A lost reply is the error of all: each can be sent again.
func releaseEach(all []Parting, sharded bool) *Call[[]ReleaseReply] {
	return With(func(ctx context.Context, conn Conn) ([]ReleaseReply, error) {
		replies := make([]ReleaseReply, len(all))
		for i, one := range all {
			var err error
			if replies[i], err = one.Call(one.ID, sharded, false).Run(ctx, conn); err != nil {
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
	replies = make([]ReleaseReply, members)
	for i := range replies {
		one := values[i*releaseNumbers:][:releaseNumbers]
		if one[0] == int64(Apart) {
			replies[i].Status = Apart
		} else if replies[i], err = releaseReply(one); err != nil {
			return nil, err
		}
	}
	return replies, nil
}
