package luacall

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/store"
)

// The scripts of a read-write lock's readers. A reader's hold is a field, the hold id, and a hold key, which has
// the hold's own lease. Redisson has one for each level of a reader.
var (
	readScript        = newScript("rw_read")
	releaseReadScript = newScript("rw_read_release")
	adoptReadScript   = newScript("rw_read_adopt")
	renewReadScript   = newScript("rw_read_renew")
	extendReadScript  = newScript("rw_read_extend")
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
	FenceTTL int64  // ms; negative: a token that is minted never expires
}

// AcquireRead takes a read-write lock for a reader, if no writer has it or waits for it, or if the writer that has it
// is Under. The fencing token is the newest that a writer had. Where none is stored, one is minted, but not inside a
// write.
func AcquireRead(a AcquireReadArgs) *Call[AcquireReply] {
	if err := check("rw_read",
		checkKey("lock", a.Lock), checkKey("hold key", a.Hold), checkKey("gate", a.Gate), checkKey("token", a.Token),
		checkID(a.ID), checkTTL("lease", a.Lease)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&readScript, 4, decodeAcquireRead,
		a.Lock, a.Hold, a.Gate, a.Token, a.ID, a.Lease, a.NotAfter, a.Under, a.FenceTTL)
}

func decodeAcquireRead(value any) (AcquireReply, error) {
	r := newReader(value, 5)
	reply := AcquireReply{store.AcquireReply{
		Status: r.status(0, acquired), Fence: r.fence(1), PTTL: r.ttl(2), Inside: r.int(4) == 1,
	}, r.int(3)}
	return reply, r.err
}

// ReleaseRead ends a reader's hold.
func ReleaseRead(a ReleaseRWArgs) *Call[ReleaseReply] {
	return releaseRW("rw_read_release", &releaseReadScript, a)
}

// AdoptRead gives a reader's hold another id, or makes another one beside it.
func AdoptRead(base string, a AdoptArgs) *Call[AcquireReply] {
	if err := check("rw_read_adopt",
		checkKey("lock", a.Lock), checkKey("base", base),
		checkMove(a.From, a.To), checkTTL("lease", a.Lease)); err != nil {
		return refuse[AcquireReply](err)
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
