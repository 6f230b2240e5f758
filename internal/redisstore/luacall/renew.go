package luacall

import "fmt"

var (
	renewScript    = newScript("renew")
	renewOneScript = newScriptOfOne("renew")
)

// RenewStatus is the outcome of the renewal of one hold.
type RenewStatus int64

// The answers of [Renew].
const (
	Renewed       RenewStatus = 1
	RenewGone     RenewStatus = 0  // the hold does not exist
	RenewConflict RenewStatus = -1 // the key holds something other than a hash
	RenewFailed   RenewStatus = -2 // Redis refused; the hold may exist
)

// Renew lengthens the leases of many holds, of one slot on a cluster: ids[i] at locks[i], to ttls[i] ms from now at
// least. For a hold that never nested, the TTL must be its lease, or less from some renewal on, but never more again:
// then no late copy shortens it. The call keeps the slices locks and ids, which must not be written any more.
func Renew(locks, ids []string, ttls []int64) *Call[[]RenewStatus] {
	if len(locks) == 0 || len(ids) != len(locks) || len(ttls) != len(locks) {
		return refuse[[]RenewStatus](fmt.Errorf(
			"lua: renew: %d locks, %d ids and %d TTLs", len(locks), len(ids), len(ttls)))
	}
	args := append(make([]any, 0, 3*len(locks)+3), "evalsha", renewScript.sha, len(locks))
	// Pointers, because a string would be copied to the heap for its place in args. A client that keeps 100,000 locks
	// sends so many of them that the garbage collector's part of the cost is seen.
	for i := range locks {
		args = append(args, &locks[i])
	}
	var ttl any
	for i := range ids {
		if err := check("renew",
			checkKey("lock", locks[i]), checkID(ids[i]), checkTTL("TTL", ttls[i])); err != nil {
			return refuse[[]RenewStatus](err)
		}
		if ttl != ttls[i] { // usually all have the client's lease
			ttl = ttls[i]
		}
		args = append(args, &ids[i], ttl)
	}
	read := func(values []int64) ([]RenewStatus, error) { return renewReply(values, len(locks)) }
	call := &Call[[]RenewStatus]{script: &renewScript, args: args, ints: read}
	if len(locks) == 1 {
		call.ofOne = renewOneScript
	}
	return call
}

func renewReply(values []int64, size int) ([]RenewStatus, error) {
	if len(values) != size {
		return nil, wrongLength(values, size)
	}
	answers := make([]RenewStatus, size)
	for i, n := range values {
		if n < int64(RenewFailed) || n > int64(Renewed) {
			return nil, &ReplyError{fmt.Sprintf("the status %d", n)}
		}
		answers[i] = RenewStatus(n)
	}
	return answers, nil
}

// decodeRenew is renewReply for scripts of other primitives, which renew fewer holds.
func decodeRenew(value any, size int) ([]RenewStatus, error) {
	r := newReader(value, size)
	numbers := make([]int64, size)
	for i := range numbers {
		numbers[i] = r.int(i)
	}
	if r.err != nil {
		return nil, r.err
	}
	return renewReply(numbers, size)
}
