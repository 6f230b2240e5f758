package luacall

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/store"
)

// The scripts of a read-write lock's writers. A writer's hold is the field <hold id>:write; the ids that
// the functions take and give are without that ending.
var (
	writeScript         = newScript("rw_write")
	releaseWriteScript  = newScript("rw_write_release")
	adoptWriteScript    = newScript("rw_write_adopt")
	renewWriteScript    = newScript("rw_write_renew")
	renewWriteOneScript = newScriptOfOne("rw_write_renew")
)

// AcquireWriteArgs says what [AcquireWrite] takes, and for whom.
type AcquireWriteArgs struct {
	AcquireArgs
	Gate    string // key of the gate
	Base    string // what the names of hold keys begin with
	GateTTL int64  // ms; 0: the gate is left as it is
	Dead    []Reader
}

// Reader is a reader that looks dead: its hold keys could not be seen.
type Reader struct {
	ID    string
	Count int64 // how many hold keys it must have, if it lives, one at least
}

// AcquireWriteReply is the answer to [AcquireWrite].
type AcquireWriteReply struct {
	AcquireReply
	Dead []Reader // Busy: no reader was found who lives. These are to be named in another call
}

// AcquireWrite takes a read-write lock for a writer, if nobody that lives has it. If readers have it, the
// gate is shut for others that come. The PTTL of a busy answer is that of a reader's own lease. Readers who
// look dead are only cleared away by a call that names them.
func AcquireWrite(a AcquireWriteArgs) *Call[AcquireWriteReply] {
	if err := check("rw_write",
		checkKey("lock", a.Lock), checkID(a.ID), checkTTL("lease", a.Lease),
		checkFenceTTL(a.FenceTTL), checkTTL("gate TTL", max(a.GateTTL, 1)),
		checkKey("token", a.Token), checkKey("gate", a.Gate)); err != nil {
		return refuse[AcquireWriteReply](err)
	}
	args := []any{a.Lock, a.Token, a.Gate}
	for _, reader := range a.Dead {
		for level := range reader.Count {
			args = append(args, HoldKey(a.Base, reader.ID, int(level)+1))
		}
	}
	keys := len(args)
	args = append(args, a.ID, a.Lease, a.NotAfter, a.FenceTTL, a.Base, a.GateTTL)
	for _, reader := range a.Dead {
		args = append(args, reader.ID, reader.Count)
	}
	return newCall(&writeScript, keys, decodeAcquireWrite, args...)
}

// maxDead is more hold keys than the script looks at: a call that names dead readers has all of theirs.
const maxDead = 2000

func decodeAcquireWrite(value any) (AcquireWriteReply, error) {
	r := newReader(value, 6)
	reply := AcquireWriteReply{AcquireReply: AcquireReply{store.AcquireReply{
		Status: r.status(0, acquired), Fence: r.fence(1), PTTL: r.ttl(2), Spare: r.int(5),
	}, r.int(3)}}
	dead, keys := r.list(4, 2), int64(0)
	for i := 0; i < len(dead.values) && dead.err == nil; i += 2 {
		reader := Reader{ID: dead.text(i), Count: dead.count(dead.text(i + 1))}
		if keys += reader.Count; reader.Count < 1 || reader.Count > maxDead || keys > maxDead {
			dead.fail(&ReplyError{fmt.Sprintf("a dead reader of %d levels", reader.Count)})
		}
		reply.Dead = append(reply.Dead, reader)
	}
	r.fail(dead.err)
	return reply, r.err
}

// ReleaseRWArgs says which hold of a read-write lock [ReleaseWrite] or [ReleaseRead] ends.
type ReleaseRWArgs struct {
	ReleaseArgs
	Other string // a writer's gate, or a reader's hold key 1; "": one key only
	Base  string // what the names of hold keys begin with
}

// ReleaseWrite ends a writer's hold, or opens the gate of one that had none.
func ReleaseWrite(a ReleaseRWArgs) *Call[ReleaseReply] {
	return releaseRW("rw_write_release", &releaseWriteScript, a)
}

func releaseRW(name string, s *script, a ReleaseRWArgs) *Call[ReleaseReply] {
	if err := check(name,
		checkKey("lock", a.Lock), checkID(a.ID), checkKey("channel", a.Channel)); err != nil {
		return refuse[ReleaseReply](err)
	}
	publish, wantNow := "PUBLISH", 0
	if a.Sharded {
		publish = "SPUBLISH"
	}
	if a.WantNow {
		wantNow = 1
	}
	args := []any{a.Lock, a.Other, a.ID, a.Channel, publish, wantNow, a.Base}
	if a.Other == "" {
		return newCall(s, 1, decodeRelease, append(args[:1:1], args[2:]...)...)
	}
	return newCall(s, 2, decodeRelease, args...)
}

// AdoptWrite gives a writer's hold another id.
func AdoptWrite(a AdoptArgs) *Call[AcquireReply] {
	if err := check("rw_write_adopt",
		checkKey("lock", a.Lock), checkMove(a.From, a.To), checkTTL("lease", a.Lease)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&adoptWriteScript, 1, decodeAdopt, a.Lock, a.From, a.To, a.Lease, a.NotAfter)
}

// RenewWrite lengthens the leases of many writers' holds, as [Renew] does.
func RenewWrite(locks, ids []string, ttls []int64) *Call[[]RenewStatus] {
	call := renewRW("rw_write_renew", &renewWriteScript, locks, nil, ids, ttls)
	if len(locks) == 1 {
		call.ofOne = renewWriteOneScript
	}
	return call
}
