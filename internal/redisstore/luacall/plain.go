package luacall

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/store"
)

var acquireScript = newScript("acquire")

// AcquireArgs are the arguments of [Acquire].
type AcquireArgs struct {
	Lock     string // key of the lock
	Token    string // key of the fencing token, in the lock's slot
	ID       string // hold id; of this acquisition only
	Lease    int64  // hold id, used only for this acquisition
	NotAfter int64  // server time in µs, after which the call has no effect
	FenceTTL int64  // ms for which an unused token is kept at least; negative: no expiry
}

// AcquireReply is the answer to [Acquire] and its like.
type AcquireReply struct {
	store.AcquireReply
	Now int64 // server time in µs
}

// Acquirer makes calls of [Acquire] that differ only in the hold id, the lease and the not-after. It
// checks and prepares the rest once.
type Acquirer struct {
	lock, token, lease, fenceTTL any
	leaseTTL                     int64 // the lease that the field lease was made of
	invalid                      error
}

// PrepareAcquire uses Lock, Token, Lease and FenceTTL. Calls with that lease are the cheapest.
func PrepareAcquire(a AcquireArgs) *Acquirer {
	return &Acquirer{
		lock: a.Lock, token: a.Token, lease: a.Lease, leaseTTL: a.Lease, fenceTTL: a.FenceTTL,
		invalid: check("acquire", checkKey("lock", a.Lock), checkKey("token", a.Token), checkFenceTTL(a.FenceTTL)),
	}
}

// Call takes the lock if it is free. Times are in ms, and in µs of the server's clock.
func (p *Acquirer) Call(id string, lease, notAfter int64) *Call[AcquireReply] {
	err := p.invalid
	if err == nil {
		err = check("acquire", checkID(id), checkTTL("lease", lease))
	}
	if err != nil {
		return refuse[AcquireReply](err)
	}
	args := []any{"evalsha", acquireScript.sha, 2, p.lock, p.token, id, p.ttl(lease), notAfter, p.fenceTTL}
	return &Call[AcquireReply]{script: &acquireScript, args: args, ints: acquireReply}
}

// ttl is a lease in the form in which it is sent.
func (p *Acquirer) ttl(lease int64) any {
	if lease == p.leaseTTL {
		return p.lease
	}
	return lease
}

// Acquire takes the lock if it is free.
func Acquire(a AcquireArgs) *Call[AcquireReply] {
	return PrepareAcquire(a).Call(a.ID, a.Lease, a.NotAfter)
}

// acquireNumbers is how many numbers an acquisition returns.
const acquireNumbers = 5

func acquireReply(v []int64) (AcquireReply, error) {
	if len(v) != acquireNumbers {
		return AcquireReply{}, wrongLength(v, acquireNumbers)
	}
	status, err := acquired.of(v[0])
	reply := store.AcquireReply{Status: status, Fence: v[1], PTTL: milliseconds(v[2])}
	if status == Busy {
		reply.Recalled = v[4] != 0
	} else {
		reply.Spare = v[4]
	}
	return AcquireReply{reply, v[3]}, err
}

// decodeAcquire is acquireReply for scripts of other primitives, which may also return text.
func decodeAcquire(value any) (AcquireReply, error) {
	r := newReader(value, 4)
	reply := AcquireReply{
		store.AcquireReply{Status: r.status(0, acquired), Fence: r.fence(1), PTTL: r.ttl(2)}, r.int(3),
	}
	return reply, r.err
}

var releaseScript = newScript("release")

// ReleaseArgs are the arguments of [Release].
type ReleaseArgs struct {
	Lock, ID  string
	Channel   string // on which the waiters listen
	Sharded   bool   // publish by SPUBLISH, as clusters do
	NoMessage bool   // what ends was in nobody's way for long
	WantNow   bool   // return the server's time, at the cost of one call inside the script
}

// ReleaseReply is the answer to [Release] and its like.
type ReleaseReply struct {
	store.ReleaseReply
	Now int64 // if it was asked for: server time in µs, read before the hold was looked at
}

// Releaser makes calls of [Release] for one lock.
type Releaser struct {
	lock, channel any
	invalid       error
}

// PrepareRelease uses Lock and Channel.
func PrepareRelease(a ReleaseArgs) *Releaser {
	return &Releaser{
		lock: a.Lock, channel: a.Channel,
		invalid: check("release", checkKey("lock", a.Lock), checkKey("channel", a.Channel)),
	}
}

// Call ends a hold, whatever its count, and wakes the waiters.
func (p *Releaser) Call(id string, sharded, wantNow bool) *Call[ReleaseReply] {
	return p.call(id, publishBy(sharded), wantNow)
}

func (p *Releaser) call(id string, publish any, wantNow bool) *Call[ReleaseReply] {
	err := p.invalid
	if err == nil {
		err = check("release", checkID(id))
	}
	if err != nil {
		return refuse[ReleaseReply](err)
	}
	var now any = 0 // constants are boxed by the compiler
	if wantNow {
		now = 1
	}
	args := append(make([]any, 0, 8), "evalsha", releaseScript.sha, 1, p.lock, id, p.channel, publish, now)
	return &Call[ReleaseReply]{script: &releaseScript, args: args, ints: releaseReply}
}

// publishBy is the command that publishes a release.
func publishBy(sharded bool) any {
	if sharded {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// Release ends a hold, whatever its count, and wakes the waiters.
func Release(a ReleaseArgs) *Call[ReleaseReply] {
	publish := publishBy(a.Sharded)
	if a.NoMessage {
		publish = ""
	}
	return PrepareRelease(a).call(a.ID, publish, a.WantNow)
}

// releaseNumbers is how many numbers a release returns.
const releaseNumbers = 3

func releaseReply(v []int64) (ReleaseReply, error) {
	if len(v) != releaseNumbers {
		return ReleaseReply{}, wrongLength(v, releaseNumbers)
	}
	status, err := released.of(v[0])
	return ReleaseReply{store.ReleaseReply{Status: status, Receivers: v[1]}, v[2]}, err
}

func decodeRelease(value any) (ReleaseReply, error) {
	r := newReader(value, 3)
	reply := ReleaseReply{store.ReleaseReply{Status: r.status(0, released), Receivers: r.int(1)}, r.int(2)}
	return reply, r.err
}

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

var adoptScript = newScript("adopt")

// AdoptArgs are the arguments of [Adopt].
type AdoptArgs struct {
	Lock     string
	From, To string // the hold's id, and its new one
	Lease    int64  // ms
	NotAfter int64  // server time in µs, after which the call has no effect
	Stays    bool   // of a reader: the hold at From stays, and the new one is made beside it
}

// Adopt gives a hold another id, as it is exported and as it is imported. The fencing token stays.
func Adopt(a AdoptArgs) *Call[AcquireReply] {
	if err := check("adopt",
		checkKey("lock", a.Lock), checkMove(a.From, a.To),
		checkTTL("lease", a.Lease)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&adoptScript, 1, decodeAdopt, a.Lock, a.From, a.To, a.Lease, a.NotAfter)
}

func decodeAdopt(value any) (AcquireReply, error) {
	r := newReader(value, 2)
	reply := AcquireReply{store.AcquireReply{Status: r.status(0, adopted)}, r.int(1)}
	return reply, r.err
}

var mintScript = newScript("mint")

// MintArgs are the arguments of [Mint].
type MintArgs struct {
	Lock     string
	Token    string // key of the fencing token, in the lock's slot
	ID       string // hold id
	NotAfter int64  // server time in µs, after which the call has no effect
	FenceTTL int64  // ms for which an unused token is kept at least; negative: no expiry
}

// Mint gives a hold further fencing tokens.
func Mint(a MintArgs) *Call[AcquireReply] {
	if err := check("mint", checkKey("lock", a.Lock), checkKey("token", a.Token), checkID(a.ID),
		checkFenceTTL(a.FenceTTL)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&mintScript, 2, decodeMint, a.Lock, a.Token, a.ID, a.NotAfter, a.FenceTTL)
}

func decodeMint(value any) (AcquireReply, error) {
	r := newReader(value, acquireNumbers)
	reply := AcquireReply{store.AcquireReply{Status: r.status(0, minted), Fence: r.fence(1), Spare: r.int(4)}, r.int(3)}
	return reply, r.err
}

var retainScript = newScript("retain")

// RetainArgs are the arguments of [Retain].
type RetainArgs struct {
	Lock, ID string
	As       string // id under which the lock is retained
	Until    int64  // server time in µs
	Most     int64  // ms for which it is retained at most
	Channel  string // on which the waiters listen
	Sharded  bool   // publish by SPUBLISH, as clusters do
}

// Retain ends a hold, whatever its count, and retains the lock until a time, or for a time if that is over sooner.
// Waiters get a message, so that they learn how long.
func Retain(a RetainArgs) *Call[ReleaseReply] {
	if err := check("retain", checkKey("lock", a.Lock), checkMove(a.ID, a.As), checkKey("channel", a.Channel),
		checkUntil(a.Until), checkTTL("most", a.Most)); err != nil {
		return refuse[ReleaseReply](err)
	}
	return newCall(
		&retainScript, 1, decodeRelease, a.Lock, a.ID, a.As, a.Until, a.Most, a.Channel, publishBy(a.Sharded),
	)
}

var levelsScript = newScript("levels")

// Levels tells how many levels a hold has: to instead of from, if that is what stands. The reply is what stands then;
// 0: the hold does not exist.
func Levels(lock, id string, from, to int64) *Call[int64] {
	if err := check("levels", checkKey("lock", lock), checkID(id), checkLevels(from), checkLevels(to)); err != nil {
		return refuse[int64](err)
	}
	return newCall(&levelsScript, 1, decodeLevels, lock, id, from, to)
}

func decodeLevels(value any) (int64, error) {
	r := reader{values: []any{value}}
	stands := r.int(0)
	if stands < 0 {
		r.fail(&ReplyError{fmt.Sprintf("a hold of %d levels", stands)})
	}
	return stands, r.err
}

var inspectScript = newScript("inspect")

// MaxInspected is the maximum number of holders, and of waiters, that one look returns: Redis does nothing else while
// a script reads them.
const MaxInspected = 1000

// Holder is one hold in Redis.
type Holder = store.Holder

// Queued is one waiter in a queue in Redis.
type Queued = store.Queued

// InspectReply is the answer to [Inspect].
type InspectReply = store.InspectReply

// Inspect asks who holds the lock. Token may be "".
func Inspect(lock, token, channel string, sharded bool) *Call[InspectReply] {
	if err := check("inspect", checkKey("lock", lock), checkKey("channel", channel)); err != nil {
		return refuse[InspectReply](err)
	}
	count := "NUMSUB"
	if sharded {
		count = "SHARDNUMSUB"
	}
	if token == "" {
		return newCall(&inspectScript, 1, decodeInspect, lock, channel, count)
	}
	return newCall(&inspectScript, 2, decodeInspect, lock, token, channel, count)
}

func decodeInspect(value any) (InspectReply, error) {
	r := newReader(value, 4)
	reply := InspectReply{PTTL: r.ttl(0), Fence: r.fence(1), Subscribers: r.int(2)}
	fields := r.list(3, 2)
	reply.Holders = fields.holders()
	r.fail(fields.err)
	return reply, r.err
}

func (r *reader) holders() []Holder {
	var all []Holder
	for i := 0; i < len(r.values); i += 2 {
		all = append(all, Holder{ID: r.text(i), Count: r.count(r.text(i + 1))})
	}
	return all
}
