package request

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

const (
	maxWithdrawn = 1 << 14                // what is forgotten beyond that ends with its lease
	withdrawWith = 100 * time.Millisecond // what else is due by then goes along
)

// withdrawals are ids that Redis refused and that nobody asks for again. A copy of the request that the
// network makes, a proxy that sends again for one, can be carried out until its not-after: by then what was
// in its way may be gone, and it takes what nobody knows of, for a lease.
//
// So the id is released once, when its not-after is past: then nothing comes any more. That is one small
// script for each refusal, in the background, some seconds later and in pipelines: whoever was refused does
// not wait for it. A trace that the refusal itself leaves would do without, but would make a reading script
// a writing one, of one key more, for the sake of copies that hardly ever are made; to release at once, and
// again later, would take twice as many. A client that closes leaves the rest to their leases: nothing that
// it could send before their not-after would do. What has no lease would be gone for good: that is cancelled then,
// which leaves a trace that a copy finds.
type withdrawals struct {
	sender *Sender

	mu    sync.Mutex // guards all below
	list  []withdrawal
	armed bool
	timer watchdog.Timer
}

// withdrawal is one id, and when to give it to the reclaimer.
type withdrawal struct {
	Orphan
	lease time.Duration
	due   time.Duration
}

// The list is not sorted. Requests of one client have nearly the same limit, so their not-afters come in the order in
// which they are added, give or take a short lease; one pass over the list each time that the timer fires is cheaper
// than a heap that every refusal has to keep in order.

// Withdraw has an id that was refused released, when no copy of its last request can come any more.
func (s *Sender) Withdraw(o Orphan, lease time.Duration) {
	if o.NotAfter == 0 {
		return
	}
	now := s.cfg.Clock.Now()
	due := s.Local(o.Proto.Key(), o.NotAfter) + time.Millisecond
	w := &s.withdrawn
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) >= maxWithdrawn {
		return
	}
	w.list = append(w.list, withdrawal{o, lease, due})
	if !w.armed {
		w.armed = true
		w.timer.Init(func(any) { w.pass() }, nil)
		s.cfg.Wheel.Schedule(&w.timer, max(due, now)+withdrawWith)
	}
}

// loose are those that no lease ends. They are looked at when nothing is added any more: Close has joined whoever could
// refuse a call.
func (w *withdrawals) loose() (all []Orphan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.list {
		if one.Loose {
			all = append(all, one.Orphan)
		}
	}
	return all
}

// pass gives to the reclaimer what is due. It runs on the wheel's goroutine.
func (w *withdrawals) pass() {
	for _, one := range w.due(w.sender.cfg.Clock.Now()) {
		w.sender.Reclaim(one.Orphan, one.lease)
	}
}

// An id is released only once its not-after is past, and not before: a release that comes earlier finds nothing,
// and the copy that comes after it takes the lock for nobody. The reclaimer would notice and release again; but for
// a refusal, which hardly ever has a copy, one request is to be enough.

// due takes out what is due, and arms the timer for the rest.
func (w *withdrawals) due(now time.Duration) (due []withdrawal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.list[:0]
	var next time.Duration
	for _, one := range w.list {
		if one.due <= now {
			due = append(due, one)
			continue
		}
		if len(rest) == 0 || one.due < next {
			next = one.due
		}
		rest = append(rest, one)
	}
	clear(w.list[len(rest):])
	w.list = rest
	if w.armed = len(rest) > 0; w.armed {
		w.sender.cfg.Wheel.Schedule(&w.timer, next+withdrawWith)
	}
	return due
}
