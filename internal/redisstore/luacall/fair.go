package luacall

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/store"
)

var (
	fairAcquireScript = newScript("fair_acquire")
	fairEnqueueScript = newScript("fair_enqueue")
	fairReleaseScript = newScript("fair_release")
)

// Fair names what a fair lock is made of. All keys and channels lie in one slot.
type Fair struct {
	Lock  string // the hash that the reentrant lock has too
	Token string // of the newest fencing token

	Queue  string // waiters' ids by ticket
	Alive  string // clients that wait, and till when they live
	State  string // the queue's record
	Client string // channel of a client, but for the client: <Client><client id>

	Channel     string // for those who do not know of the queue
	JavaQueue   string // list of the threads that wait in Redisson's fair lock
	JavaTimes   string // when each of them gives up
	JavaChannel string // channel of one of them, but for its name
}

// FairTimes are the times of a fair lock's queue.
type FairTimes = store.QueueTimes

// FairArgs says what [FairAcquire] takes, and for whom.
type FairArgs struct {
	ID       string // <client id>:<nonce>; of this acquisition only
	Lease    int64  // ms
	NotAfter int64  // server time in µs, after which nothing must happen any more
	FenceTTL int64  // ms for which an unused token is kept at least; negative: for ever
	Ticket   int64  // what it was given before; 0: nothing
	Once     bool   // it does not wait, and so gets no place
	Sharded  bool   // publish by SPUBLISH, as clusters do
}

// FairReply is the answer to [FairAcquire].
type FairReply struct {
	AcquireReply      // PTTL: for how long the waiter need not ask again
	Foreign      bool // Busy: who holds the lock tells nobody in the queue of its release
}

// FairAcquire takes the lock if it is the waiter's turn, and else keeps its place.
func FairAcquire(f Fair, t FairTimes, a FairArgs) *Call[FairReply] {
	if err := check("fair acquire",
		f.check(), checkFairTimes(t), checkFairID(a.ID), checkTTL("lease", a.Lease),
		checkFenceTTL(a.FenceTTL), checkTicket(a.Ticket)); err != nil {
		return refuse[FairReply](err)
	}
	waits := 1
	if a.Once {
		waits = 0
	}
	return newCall(&fairAcquireScript, 5, decodeFairAcquire,
		f.Lock, f.Token, f.Queue, f.Alive, f.State,
		a.ID, a.Lease, a.NotAfter, a.FenceTTL, a.Ticket, waits,
		t.Life, t.Step, t.Unused, t.Grant, t.Restore, f.Client, publication(a.Sharded))
}

func decodeFairAcquire(value any) (FairReply, error) {
	r := newReader(value, 10)
	reply := FairReply{AcquireReply: AcquireReply{store.AcquireReply{
		Status: r.status(0, acquired), Fence: r.fence(1), PTTL: r.ttl(2),
		Ticket: r.int(4), Lapsed: r.int(5) == 1, Spare: r.int(7), Next: r.int(8), Swapped: r.int(9) == 1,
	}, r.int(3)}, Foreign: r.int(6) == 1}
	if reply.Status == Busy {
		reply.Recalled, reply.Spare = reply.Spare != 0, 0
	}
	return reply, r.err
}

// Place is a waiter and the ticket that it had before; 0: none.
type Place struct {
	ID     string
	Ticket int64
}

// maxPlaces is how many waiters one call takes: the arguments of one ZADD are bounded by Lua's stack.
const maxPlaces = 1000

// FairEnqueue gives waiters of one client their places in the queue: those who had one the same, the others
// behind everybody, in the order given. From this call on the client is taken to live.
func FairEnqueue(f Fair, t FairTimes, notAfter int64, places []Place) *Call[EnqueueReply] {
	if len(places) == 0 || len(places) > maxPlaces {
		return refuse[EnqueueReply](fmt.Errorf("lua: fair enqueue: %d waiters", len(places)))
	}
	args := append(make([]any, 0, 8+2*len(places)), f.Queue, f.Alive, f.State, notAfter, t.Unused, t.Step, t.Life, nil)
	count, arrived := len(args)-1, 0
	for _, w := range places {
		if err := check("fair enqueue", checkFairID(w.ID), checkTicket(w.Ticket)); err != nil {
			return refuse[EnqueueReply](err)
		}
		if w.Ticket == 0 {
			args, arrived = append(args, w.ID), arrived+1
		}
	}
	args[count] = arrived
	if arrived < len(places) {
		for _, w := range places {
			if w.Ticket != 0 {
				args = append(args, w.ID, w.Ticket)
			}
		}
	}
	if err := check("fair enqueue", f.check(), checkFairTimes(t)); err != nil {
		return refuse[EnqueueReply](err)
	}
	decode := func(value any) (EnqueueReply, error) { return decodeFairEnqueue(value, places, arrived) }
	return newCall(&fairEnqueueScript, 3, decode, args...)
}

// decodeFairEnqueue puts the tickets into the order of the places, of which those that arrived, with no ticket before,
// were named first.
func decodeFairEnqueue(value any, places []Place, arrived int) (EnqueueReply, error) {
	values, _ := value.([]any)
	if len(values) == 2 {
		r := newReader(value, 2)
		reply := EnqueueReply{store.EnqueueReply{Status: r.status(0, statuses{TooLate})}, r.int(1)}
		return reply, r.err
	}
	size, each := 5, arrived < len(places) || len(values) != 5
	if each {
		size += len(places)
	}
	r := newReader(value, size)
	reply := EnqueueReply{store.EnqueueReply{
		Status: r.status(0, statuses{Done}), Lapsed: r.int(2) == 1, Next: r.int(3),
		Tickets: make([]int64, len(places)),
	}, r.int(1)}
	fresh, other := 0, arrived
	for i, w := range places {
		at := &fresh
		if w.Ticket != 0 {
			at = &other
		}
		if each {
			reply.Tickets[i] = r.int(5 + *at)
		} else {
			reply.Tickets[i] = r.int(4) + int64(*at)
		}
		*at++
	}
	return reply, r.err
}

func publication(sharded bool) string {
	if sharded {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

func (f Fair) check() error {
	for _, key := range [...]string{
		f.Lock, f.Token, f.Queue, f.Alive, f.State, f.Client, f.Channel,
		f.JavaQueue, f.JavaTimes, f.JavaChannel,
	} {
		if err := checkKey("key or channel", key); err != nil {
			return err
		}
	}
	return nil
}

func checkFairTimes(t FairTimes) error {
	for _, ms := range [...]int64{t.Life, t.Step, t.Unused, t.Grant, t.Restore, t.Run, t.Pause} {
		if err := checkTTL("time of the queue", ms); err != nil {
			return err
		}
	}
	return nil
}

// checkFairID wants a client in front of the last colon, since a client lives or dies as a whole.
func checkFairID(id string) error {
	if strings.LastIndexByte(id, ':') < 1 {
		return fmt.Errorf("the hold id %q names no client", id)
	}
	return nil
}

func checkTicket(ticket int64) error {
	if ticket < 0 || ticket > maxExact {
		return errors.New("not a ticket: " + strconv.FormatInt(ticket, 10))
	}
	return nil
}

// FairReleaseArgs says what [FairRelease] ends.
type FairReleaseArgs struct {
	ID      string
	Served  []string // waiters that the hold was passed on to: they have no place any more
	Sharded bool     // publish by SPUBLISH
	WantNow bool     // tell the server's time, also where the script does not need it
	Unsure  bool     // PUBLISH does not count those who listen at other nodes
}

// FairRelease ends a hold, whatever count stands, and invites the next waiter; or takes a waiter out of the queue, and
// an invitation from it.
func FairRelease(f Fair, t FairTimes, a FairReleaseArgs) *Call[ReleaseReply] {
	if err := check("fair release", f.check(), checkFairTimes(t), checkFairID(a.ID)); err != nil {
		return refuse[ReleaseReply](err)
	}
	wantNow, unsure := 0, 0
	if a.WantNow {
		wantNow = 1
	}
	if a.Unsure {
		unsure = 1
	}
	args := append(make([]any, 0, 18+len(a.Served)),
		f.Lock, f.Queue, f.Alive, f.State, f.JavaQueue, f.JavaTimes,
		a.ID, f.Channel, f.Client, f.JavaChannel, publication(a.Sharded), wantNow,
		t.Step, t.Unused, t.Grant, t.Run, t.Pause, unsure)
	for _, id := range a.Served {
		args = append(args, id)
	}
	return newCall(&fairReleaseScript, 6, decodeRelease, args...)
}

var fairInspectScript = newScript("fair_inspect")

// FairInspect tells who holds the lock and who waits for it, of very many those who come next. One who is invited
// is a holder whose count is 0.
func FairInspect(f Fair, t FairTimes, sharded bool) *Call[InspectReply] {
	if err := check("fair inspect", f.check(), checkFairTimes(t)); err != nil {
		return refuse[InspectReply](err)
	}
	count := "NUMSUB"
	if sharded {
		count = "SHARDNUMSUB"
	}
	return newCall(&fairInspectScript, 5, decodeFairInspect,
		f.Lock, f.Token, f.Queue, f.Alive, f.State, f.Channel, count, t.Step, MaxInspected)
}

func decodeFairInspect(value any) (InspectReply, error) {
	r := newReader(value, 6)
	reply, err := decodeInspect(r.values[:4])
	reply.QueueMore = r.int(5)
	waiters := r.list(4, 2) // ids and tickets
	for i := 0; i < len(waiters.values); i += 2 {
		reply.Queue = append(reply.Queue, Queued{ID: waiters.text(i), Since: waiters.int(i + 1)})
	}
	r.fail(err)
	r.fail(waiters.err)
	return reply, r.err
}
