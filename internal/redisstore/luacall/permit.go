package luacall

import (
	"errors"
	"fmt"
	"time"
)

var (
	permitAcquireScript       = newScript("permit_acquire")
	permitReleaseScript       = newScript("permit_release")
	permitRenewScript         = newScript("permit_renew")
	permitRenewOneScript      = newScriptOfOne("permit_renew")
	permitRenewExpiringScript = newScript("permit_renew_expiring")
	permitInspectScript       = newScript("permit_inspect")
	permitCapacityScript      = newScript("permit_capacity")
	permitDeleteScript        = newScript("permit_delete")
	permitAdjustScript        = newScript("permit_adjust")
	permitLookScript          = newScript("permit_look")
)

// MaxPermits is the maximum number of permits in one hold: each is a member of the sorted set.
const MaxPermits = 10_000

// Permits are the keys of a semaphore whose permits have leases, in one slot.
type Permits struct {
	Free    string // key of the number of free permits
	Leases  string // key of the sorted set of taken permits
	Channel string // on which the waiters listen
	Sharded bool   // publish by SPUBLISH, as clusters do
	Unused  int64  // ms after the last use at which the keys expire; 0: they are kept

	Capacity int64 // that a PermitAcquire sets where none is set; 0: none
}

func (p Permits) check() error {
	return errors.Join(checkKey("permits", p.Free), checkKey("leases", p.Leases),
		checkKey("channel", p.Channel), checkUnused(p.Unused))
}

func checkUnused(ms int64) error {
	if ms == 0 {
		return nil
	}
	return checkTTL("time after the last use", ms)
}

func (p Permits) kind() string { return publishKind(p.Sharded) }

func publishKind(sharded bool) string {
	if sharded {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

func checkCount(count, least, most int64) error {
	if count < least || count > most {
		return fmt.Errorf("%d permits are not between %d and %d", count, least, most)
	}
	return nil
}

// PermitHold is a hold of one or more permits.
type PermitHold struct {
	ID    string // used only for this acquisition
	Count int64  // how many permits it has
}

// NoCapacity is the Fence of a PermitAcquire that was refused because no capacity is set.
const NoCapacity = -1

// PermitAcquire takes permits if as many are free. If the hold asks for more than the capacity, [Capacity]
// extracts the capacity from its error. A capacity of zero is a pause, and not such an error.
func PermitAcquire(p Permits, h PermitHold, lease, notAfter int64) *Call[AcquireReply] {
	if err := check("permit_acquire", p.check(), checkID(h.ID),
		checkCount(h.Count, 1, MaxPermits), checkCount(p.Capacity, 0, MaxCount), checkTTL("lease", lease)); err != nil {
		return refuse[AcquireReply](err)
	}
	call := newCall[AcquireReply](&permitAcquireScript, 2, nil,
		p.Free, p.Leases, h.ID, h.Count, lease, notAfter, p.Capacity, p.Channel, p.kind(), p.Unused)
	call.ints = acquireReply
	return call
}

// PermitRelease gives back the permits of a hold. Its Count may be 0 if unknown.
func PermitRelease(p Permits, h PermitHold) *Call[ReleaseReply] {
	if err := check("permit_release", p.check(), checkID(h.ID),
		checkCount(h.Count, 0, MaxPermits)); err != nil {
		return refuse[ReleaseReply](err)
	}
	call := newCall[ReleaseReply](&permitReleaseScript, 2, nil,
		p.Free, p.Leases, h.ID, h.Count, p.Channel, p.kind(), p.Unused)
	call.ints = releaseReply
	return call
}

// PermitReleaseOne gives back one permit by its name in the set, which may be anything: Redisson's names
// are 16 random bytes.
func PermitReleaseOne(p Permits, permit string) *Call[ReleaseReply] {
	if err := check("permit_release", p.check()); err != nil {
		return refuse[ReleaseReply](err)
	}
	return newCall(&permitReleaseScript, 2, decodeRelease,
		p.Free, p.Leases, permit, -1, p.Channel, p.kind(), p.Unused)
}

// PermitRenew renews the leases of holds with count permits each, of one slot on a cluster: ids[i] in the
// set leases[i], to ttls[i] ms from now. The TTL must be the same with every renewal of a hold.
func PermitRenew(leases, ids []string, count int64, ttls []int64) *Call[[]RenewStatus] {
	renewals, err := permitRenewals("permit_renew", leases, ids, count, ttls)
	if err != nil {
		return refuse[[]RenewStatus](err)
	}
	args := append(texts(leases), count)
	call := newCall(&permitRenewScript, len(leases), decodeRenewals(len(leases)), append(args, renewals...)...)
	if len(leases) == 1 {
		call.ofOne = permitRenewOneScript
	}
	return call
}

// PermitRenewExpiring is PermitRenew of semaphores that expire unused ms after their last use; a renewal is a use.
// free[i] is the key of the number of free permits. While the slot is being migrated the leases are renewed, and the
// expiry of the semaphores is not put off.
func PermitRenewExpiring(
	free, leases, ids []string, count int64, ttls []int64, unused int64,
) *Call[[]RenewStatus] {
	renewals, err := permitRenewals("permit_renew_expiring", leases, ids, count, ttls)
	if len(free) != len(leases) {
		err = errors.Join(err, fmt.Errorf("lua: permit_renew_expiring: %d numbers, %d sets", len(free), len(leases)))
	}
	for _, key := range free {
		err = errors.Join(err, check("permit_renew_expiring", checkKey("permits", key), checkUnused(unused)))
	}
	if err != nil {
		return refuse[[]RenewStatus](err)
	}
	args := append(append(append(texts(leases), texts(free)...), count, unused), renewals...)
	call := newCall(&permitRenewExpiringScript, 2*len(leases), decodeRenewals(len(leases)), args...)
	return call.OrElse(PermitRenew(leases, ids, count, ttls))
}

// permitRenewals are the arguments of the single holds.
func permitRenewals(script string, leases, ids []string, count int64, ttls []int64) (args []any, err error) {
	if len(leases) == 0 || len(ids) != len(leases) || len(ttls) != len(leases) {
		return nil, fmt.Errorf("lua: %s: %d sets, %d ids and %d TTLs", script, len(leases), len(ids), len(ttls))
	}
	args = make([]any, 0, 2*len(leases))
	for i, id := range ids {
		if err := check(script, checkKey("leases", leases[i]), checkID(id),
			checkCount(count, 1, MaxPermits), checkTTL("TTL", ttls[i])); err != nil {
			return nil, err
		}
		args = append(args, id, ttls[i])
	}
	return args, nil
}

func texts(keys []string) []any {
	args := make([]any, 0, 4*len(keys)+2)
	for _, key := range keys {
		args = append(args, key)
	}
	return args
}

func decodeRenewals(holds int) func(value any) ([]RenewStatus, error) {
	return func(value any) ([]RenewStatus, error) { return decodeRenew(value, holds) }
}

// PermitCapacity sets the total number of permits. The reply's Value is how many are free.
func PermitCapacity(p Permits, capacity int64, r Request) *Call[CountReply] {
	if err := check("permit_capacity", p.check(), r.check(),
		checkCount(capacity, 0, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&permitCapacityScript, 3, decodeChanged,
		r.with([]any{p.Free, r.Key, p.Leases}, capacity, p.Channel, p.kind(), p.Unused)...)
}

// PermitDelete deletes the semaphore. If permits are held, the status is Busy, and the reply's Value is
// how many.
func PermitDelete(p Permits, r Request) *Call[CountReply] {
	if err := check("permit_delete", p.check(), r.check()); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&permitDeleteScript, 3, decodeStarted,
		r.with([]any{p.Free, r.Key, p.Leases}, p.Channel, p.kind())...)
}

// PermitInspect asks who holds permits. It returns one holder for each permit, by its name in the set.
// While the slot is being migrated it does not check the key of the free permits.
func PermitInspect(p Permits) *Call[InspectReply] {
	if err := check("permit_inspect", p.check()); err != nil {
		return refuse[InspectReply](err)
	}
	count := "NUMSUB"
	if p.Sharded {
		count = "SHARDNUMSUB"
	}
	single := newCall(&permitInspectScript, 1, decodePermits, p.Leases, p.Channel, count)
	return newCall(&permitInspectScript, 2, decodePermits, p.Leases, p.Free, p.Channel, count).
		OrElse(single)
}

func decodePermits(value any) (InspectReply, error) {
	r := newReader(value, 3)
	now := r.int(0)
	reply := InspectReply{PTTL: -2 * time.Millisecond, Subscribers: r.int(1)}
	held := r.list(2, 2)
	for i := 0; i < len(held.values); i += 2 {
		ttl := held.score(i+1, now)
		reply.PTTL = max(reply.PTTL, ttl)
		reply.Holders = append(reply.Holders, Holder{ID: held.text(i), Count: 1, TTL: ttl})
	}
	r.fail(held.err)
	return reply, r.err
}

// PermitAdd changes the capacity by some, which may be below zero. The reply's Value is the capacity then. If no
// capacity was set, the status is Gone; of a copy of a call that was refused before, it may be Busy. If there would be
// less than none, or more than [MaxCount], [Capacity] extracts from the error what the capacity is.
func PermitAdd(p Permits, by int64, r Request) *Call[CountReply] {
	if err := check("permit_adjust", p.check(), r.check(), checkCount(by, -MaxCount, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return permitAdjust(p, by, 1, r)
}

// PermitCapacityIfAbsent sets the capacity if none was set. Otherwise the status is Busy. The reply's Value is
// the capacity then.
func PermitCapacityIfAbsent(p Permits, capacity int64, r Request) *Call[CountReply] {
	if err := check("permit_adjust", p.check(), r.check(), checkCount(capacity, 0, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return permitAdjust(p, capacity, 0, r)
}

var decodeAdjusted = countOf(append(statuses{Gone}, started...))

func permitAdjust(p Permits, n int64, relative int, r Request) *Call[CountReply] {
	return newCall(&permitAdjustScript, 3, decodeAdjusted,
		r.with([]any{p.Free, r.Key, p.Leases}, n, p.Channel, p.kind(), relative, int64(MaxCount), p.Unused)...)
}

// PermitLook reads how many permits are free, or how many there are in all. If no capacity was set, the status is
// Gone.
func PermitLook(p Permits, all bool) *Call[CountReply] {
	if err := check("permit_look", p.check()); err != nil {
		return refuse[CountReply](err)
	}
	which := 0
	if all {
		which = 1
	}
	return newCall(&permitLookScript, 2, decodeLook, p.Free, p.Leases, which)
}
