package luacall

import (
	"fmt"
	"strconv"

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
}

// AcquireRead takes a read-write lock for a reader, if no writer has it or waits for it, or if the writer that has it
// is Under. The fencing token is the newest that a writer had.
func AcquireRead(a AcquireReadArgs) *Call[AcquireReply] {
	if err := check("rw_read",
		checkKey("lock", a.Lock), checkKey("hold key", a.Hold), checkKey("gate", a.Gate), checkKey("token", a.Token),
		checkID(a.ID), checkTTL("lease", a.Lease)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&readScript, 4, decodeAcquireRead,
		a.Lock, a.Hold, a.Gate, a.Token, a.ID, a.Lease, a.NotAfter, a.Under)
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
