package luacall

import (
	"context"
	"fmt"
	"strconv"
)

// The scripts of a read-write lock's readers. A reader's hold is a field, the hold id, and a hold key for
// each of its levels, of which the first counts: it has the hold's own lease.
var (
	readScript        = newScript("rw_read")
	releaseReadScript = newScript("rw_read_release")
	reenterReadScript = newScript("rw_read_reenter")
	leaveReadScript   = newScript("rw_read_leave")
	adoptReadScript   = newScript("rw_read_adopt")
	renewReadScript   = newScript("rw_read_renew")
	extendReadScript  = newScript("rw_read_extend")
	numberReadScript  = newScript("rw_read_number")
	countReadScript   = newScript("rw_read_count")
)

// HoldKey is the key of a level of a reader's hold, as Redisson has it.
func HoldKey(base, id string, level int) string {
	return base + id + ":rwlock_timeout:" + strconv.Itoa(level)
}

// AcquireReadArgs says what [AcquireRead] takes, and for whom.
type AcquireReadArgs struct {
	Lock     string
	Hold     string // hold key 1
	Gate     string // key of the gate
	Token    string // key of the fencing token
	ID       string // hold id; of this acquisition only
	Under    string // hold id of a writer, inside which this hold may be; "": none
	Lease    int64  // ms
	NotAfter int64  // server time in µs, after which nothing must happen any more
}

// AcquireRead takes a read-write lock for a reader, if no writer has it or waits for it. The fencing token
// is the newest writer's.
func AcquireRead(a AcquireReadArgs) *Call[AcquireReply] {
	if err := check("rw_read",
		checkKey("lock", a.Lock), checkKey("hold key", a.Hold), checkKey("gate", a.Gate), checkKey("token", a.Token),
		checkID(a.ID), checkTTL("lease", a.Lease)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&readScript, 4, decodeAcquire,
		a.Lock, a.Hold, a.Gate, a.Token, a.ID, a.Lease, a.NotAfter, a.Under)
}

// ReleaseRead ends a reader's hold.
func ReleaseRead(a ReleaseRWArgs) *Call[ReleaseReply] {
	return releaseRW("rw_read_release", &releaseReadScript, a)
}

// ReenterRead writes how many levels a reader's hold has. Base is what the names of hold keys begin with.
func ReenterRead(base string, a ReenterArgs) *Call[StepReply] {
	return stepRead("rw_read_reenter", &reenterReadScript, base, a, true)
}

// LeaveRead takes one level off a reader's hold that keeps others.
func LeaveRead(base string, a LeaveArgs) *Call[StepReply] {
	return stepRead("rw_read_leave", &leaveReadScript, base, ReenterArgs(a), false)
}

// stepRead makes a call with as many hold keys as there are levels before or after it. Redis allows some
// thousands of keys and more, and nobody nests so deep.
func stepRead(name string, s *script, base string, a ReenterArgs, enters bool) *Call[StepReply] {
	levels, entered, ttl := a.Count, 1, checkLeastTTL(a.TTL)
	if !enters {
		levels, entered, ttl = a.Count+1, 0, checkTTL("TTL", a.TTL)
	}
	if err := check(name,
		checkKey("lock", a.Lock), checkKey("base", base), checkID(a.ID),
		checkStep(a.Count, a.Op), ttl); err != nil {
		return refuse[StepReply](err)
	}
	args := []any{a.Lock}
	for level := range levels {
		args = append(args, HoldKey(base, a.ID, int(level)+1))
	}
	keys := len(args)
	args = append(args, a.ID, a.Count, a.Op, a.TTL)
	return newCall(s, keys, decodeStep, args...).OrElse(stepApart(base, a, entered))
}

// stepApart is a step in a slot that is being moved: one key after the other. The hold keys of inner levels
// stay as they are. The count is written by a copy as well, which cannot know whether the first one came so
// far.
func stepApart(base string, a ReenterArgs, entered int) *Call[StepReply] {
	return With(func(ctx context.Context, conn Conn) (StepReply, error) {
		number := newCall(&numberReadScript, 1, decodeStep, HoldKey(base, a.ID, 1), a.Op, a.TTL, entered)
		reply, err := number.Run(ctx, conn)
		if err != nil || reply.Status == Gone {
			return reply, err
		}
		counted, err := newCall(&countReadScript, 1, decodeStep, a.Lock, a.ID, a.Count, a.TTL).Run(ctx, conn)
		if err != nil || counted.Status == Gone {
			return counted, err
		}
		return reply, nil
	})
}

// AdoptRead gives a reader's hold another id, or makes another one beside it.
func AdoptRead(base string, a AdoptArgs) *Call[AdoptReply] {
	if err := check("rw_read_adopt",
		checkKey("lock", a.Lock), checkKey("base", base),
		checkMove(a.From, a.To), checkTTL("lease", a.Lease)); err != nil {
		return refuse[AdoptReply](err)
	}
	stays := ""
	if a.Stays {
		stays = "1"
	}
	return newCall(&adoptReadScript, 3, decodeAdopt,
		a.Lock, HoldKey(base, a.From, 1), HoldKey(base, a.To, 1), a.From, a.To, a.Lease, a.NotAfter, stays)
}

// RenewRead lengthens the leases of many readers' holds, as [Renew] does; holds[i] is hold key 1 of ids[i].
// Holds of one lock that stand side by side cost less.
func RenewRead(locks, holds, ids []string, ttls []int64) *Call[[]RenewStatus] {
	return renewRW("rw_read_renew", &renewReadScript, locks, holds, ids, ttls)
}

// ExtendRead renews one key of a reader's hold: hold key 1, with no id, or the lock.
func ExtendRead(key, id string, ttl int64) *Call[[]RenewStatus] {
	if err := check("rw_read_extend", checkKey("key", key), checkTTL("TTL", ttl)); err != nil {
		return refuse[[]RenewStatus](err)
	}
	decode := func(value any) ([]RenewStatus, error) { return decodeRenew(value, 1) }
	return newCall(&extendReadScript, 1, decode, key, ttl, id)
}

// renewRW makes a renewal of many holds. Each has its lock among the keys and, if it is a reader's, hold
// key 1.
func renewRW(
	name string, s *script, locks, holds, ids []string, ttls []int64,
) *Call[[]RenewStatus] {
	if len(locks) == 0 || len(ids) != len(locks) || len(ttls) != len(locks) ||
		holds != nil && len(holds) != len(locks) {
		return refuse[[]RenewStatus](fmt.Errorf("lua: %s: %d locks, %d hold keys, %d ids and %d TTLs",
			name, len(locks), len(holds), len(ids), len(ttls)))
	}
	args := make([]any, 0, 4*len(locks))
	for i, lock := range locks {
		args = append(args, lock)
		if holds != nil {
			args = append(args, holds[i])
		}
	}
	keys := len(args)
	for i, id := range ids {
		if err := check(name,
			checkKey("lock", locks[i]), checkID(id), checkTTL("TTL", ttls[i])); err != nil {
			return refuse[[]RenewStatus](err)
		}
		args = append(args, id, ttls[i])
	}
	decode := func(value any) ([]RenewStatus, error) { return decodeRenew(value, len(locks)) }
	return newCall(s, keys, decode, args...)
}
