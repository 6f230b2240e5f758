package luacall

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
)

var (
	countAcquireScript = newScript("count_acquire")
	countCancelScript  = newScript("count_cancel")
	countReleaseScript = newScript("count_release")
	countSetScript     = newScript("count_set")
	countDrainScript   = newScript("count_drain")
	countDeleteScript  = newScript("count_delete")
	countLookScript    = newScript("count_look")
)

// MaxCount is the greatest number of permits, and the greatest count of a latch: Redisson reads 32
// bits.
const MaxCount = math.MaxInt32

// Counter is a semaphore whose permits nobody owns: a number.
type Counter struct {
	Free    string // its key
	Channel string // on which the waiters listen
	Sharded bool   // publish by SPUBLISH, as clusters do
}

func (c Counter) check() error {
	return errors.Join(checkKey("permits", c.Free), checkKey("channel", c.Channel))
}

// CountReply is the answer to what changes or reads a number.
type CountReply struct {
	store.ChangeReply
	Now int64 // server time in µs; 0: it is not told
}

// countOf decodes the answer of a script with those statuses.
func countOf(known statuses) func(value any) (CountReply, error) {
	return func(value any) (CountReply, error) {
		r := newReader(value, 3)
		reply := CountReply{store.ChangeReply{Status: r.status(0, known), Value: r.int(1)}, r.int(2)}
		return reply, r.err
	}
}

var (
	decodeChanged = countOf(changed)
	decodeStarted = countOf(started)
	decodeLook    = countOf(statuses{Busy, Gone}) // nothing was written; a number that is not there
)

// CountAcquire takes count permits if as many are free. Once says that nobody asks again if they are
// not: then no copy of the call takes any.
func CountAcquire(c Counter, count int64, once bool, r Request) *Call[AcquireReply] {
	if err := check("count_acquire", c.check(), r.check(), checkCount(count, 1, MaxCount)); err != nil {
		return refuse[AcquireReply](err)
	}
	flag := 0
	if once {
		flag = 1
	}
	return newCall(&countAcquireScript, 2, decodeAcquire, r.with([]any{c.Free, r.Key}, count, flag)...)
}

// CountCancel gives back what a CountAcquire of count permits under that request took, and prevents
// copies of it, which may arrive for another life milliseconds, from taking any.
func CountCancel(c Counter, count int64, r Request, life int64) *Call[ReleaseReply] {
	if err := check("count_cancel", c.check(), r.check(), checkCount(count, 1, MaxCount),
		checkTTL("life", life)); err != nil {
		return refuse[ReleaseReply](err)
	}
	return newCall(&countCancelScript, 2, decodeRelease,
		c.Free, r.Key, r.ID, count, life, c.Channel, publishKind(c.Sharded))
}

// CountRelease adds permits, or takes some away if count is below zero. The reply's Value is how many are then free.
// If that would be more than [MaxCount], or as much below zero, [Capacity] extracts from the error how many fit.
func CountRelease(c Counter, count int64, r Request) *Call[CountReply] {
	if err := check("count_release", c.check(), r.check(), checkCount(count, -MaxCount, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&countReleaseScript, 2, decodeChanged, r.with([]any{c.Free, r.Key},
		count, c.Channel, publishKind(c.Sharded), int64(MaxCount))...)
}

// CountSet makes a semaphore with count permits. If it exists, the status is Busy.
func CountSet(c Counter, count int64, r Request) *Call[CountReply] {
	if err := check("count_set", c.check(), r.check(), checkCount(count, 0, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&countSetScript, 2, decodeStarted,
		r.with([]any{c.Free, r.Key}, count, c.Channel, publishKind(c.Sharded))...)
}

// CountDrain takes all free permits. The reply's Value is their number.
func CountDrain(c Counter, r Request) *Call[CountReply] {
	if err := check("count_drain", c.check(), r.check()); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&countDrainScript, 2, decodeChanged, r.with([]any{c.Free, r.Key})...)
}

// CountDelete deletes the semaphore.
func CountDelete(c Counter, r Request) *Call[CountReply] {
	if err := check("count_delete", c.check(), r.check()); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&countDeleteScript, 2, decodeChanged, r.with([]any{c.Free, r.Key})...)
}

// CountLook reads the number at a key; an absent key is 0.
func CountLook(key string) *Call[CountReply] {
	if err := check("count_look", checkKey("key", key)); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&countLookScript, 1, decodeLook, key)
}

// capacityMark starts the error replies to requests for more than there is, or than there may be.
const capacityMark = "HOLDFASTCAPACITY "

// Capacity reports whether a script refused a number for being too large, and the largest that it would
// have accepted. Nothing was written in that case.
func Capacity(err error) (most int64, refused bool) {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return 0, false
	}
	text, found := strings.CutPrefix(reply.Error(), capacityMark)
	if !found {
		return 0, false
	}
	most, bad := strconv.ParseInt(text, 10, 64)
	return most, bad == nil
}

// score converts a time, in ms of the server's clock, to the time left until then.
func (r *reader) score(i int, now int64) time.Duration {
	at, err := strconv.ParseFloat(r.text(i), 64)
	if err != nil {
		r.fail(unlike("the time of an expiry", r.values[i]))
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(int64(min(at, 1e18))-now, 0), most)) * time.Millisecond
}
