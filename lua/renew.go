package lua

import "fmt"

var renewScript = newScript("renew")

// RenewStatus is what became of the renewal of one hold.
type RenewStatus int64

// The answers of [Renew].
const (
	Renewed       RenewStatus = 1
	RenewGone     RenewStatus = 0  // the hold is not there
	RenewConflict RenewStatus = -1 // something else than a hash stands at the key
	RenewFailed   RenewStatus = -2 // Redis refused; the hold may be there
)

// Renew lengthens the leases of many holds, of one slot on a cluster: ids[i] at locks[i],
// to ttls[i] ms from now at least. For a hold that never nested the TTL must be its lease,
// or less from some renewal on, but never more again: then no late copy shortens it.
func Renew(locks, ids []string, ttls []int64) *Call[[]RenewStatus] {
	if len(locks) == 0 || len(ids) != len(locks) || len(ttls) != len(locks) {
		return refuse[[]RenewStatus](fmt.Errorf(
			"lua: renew: %d locks, %d ids and %d TTLs", len(locks), len(ids), len(ttls)))
	}
	args := make([]any, 0, 3*len(locks))
	for _, lock := range locks {
		args = append(args, lock)
	}
	for i, id := range ids {
		if err := check("renew",
			checkKey("lock", locks[i]), checkID(id), checkTTL("TTL", ttls[i])); err != nil {
			return refuse[[]RenewStatus](err)
		}
		args = append(args, id, ttls[i])
	}
	decode := func(value any) ([]RenewStatus, error) { return decodeRenew(value, len(locks)) }
	return newCall(&renewScript, len(locks), decode, args...)
}

func decodeRenew(value any, size int) ([]RenewStatus, error) {
	r := newReader(value, size)
	answers := make([]RenewStatus, size)
	for i := range answers {
		answers[i] = RenewStatus(r.int(i))
	}
	return answers, r.err
}
