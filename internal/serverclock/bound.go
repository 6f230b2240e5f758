package serverclock

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Instant is one moment on both clocks of a client. A machine that was suspended, or a virtual one that its host
// stopped, may have missed time on the first that shows on the second.
type Instant struct{ Mono, Wall time.Duration }

// since is how much time has passed since an earlier instant, by the clock that says more.
func (i Instant) since(earlier Instant) time.Duration {
	return max(i.Mono-earlier.Mono, i.Wall-earlier.Wall, 0)
}

// Span is a time that a server granted something for, by its own clock in µs.
type Span struct{ From, End int64 }

// length is how long it is.
func (s Span) length() time.Duration { return time.Duration(s.End-s.From) * time.Microsecond }

const (
	// rate is how far two clocks may move apart: a hundredth of the time that passes, as everywhere in this module.
	rate = 100
	// slow is how long an exchange takes of which the answer says too little. Its sending is too long before the moment
	// at which the server read its clock.
	slow = 500 * time.Millisecond
	// forgets is how long a server is remembered that does not answer any more: far longer than a grant.
	forgets = 10 * time.Minute
)

// A Bound is the latest time that each of a client's servers may show. It is the opposite of an estimate: what is
// granted until a time of the server's can be relied on before the bound reaches that time.
//
// An answer tells that its server's clock showed a time at some moment after the request was sent. If the clock goes
// on, it has shown no more since than that time and what has passed since the sending, and a hundredth of that for
// clocks that run at different rates. The zero Bound knows nothing.
//
// A later answer may tell an earlier time, because it came by a shorter way, or because somebody set the server's
// clock back. The two cannot be told apart, and in the second case a grant of before the step has an end that the new
// clock reaches too late. So an answer lowers the bound by no more than a hundredth of the time since the one before:
// of a message of before the step, which has been on its way for d, the bound is never more than d/100 short.
//
// A server is a running process, and not an address: the one that was promoted, or has taken over a slot, has a clock
// of its own. What is known of one says nothing of another.
type Bound struct {
	mu      sync.Mutex // guards servers
	servers map[string]top
}

// top is the latest time that a server may have shown when the last request was sent that it answered.
type top struct {
	latest time.Duration
	sent   Instant
}

// Observe records an answer: the server's clock showed now, in µs, between sent and received.
func (b *Bound) Observe(server string, sent, received Instant, now int64) {
	if server == "" || now <= 0 || received.since(sent) > slow {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old, known := b.servers[server]
	if known && sent.Mono < old.sent.Mono {
		return
	}
	fresh := top{time.Duration(now) * time.Microsecond, sent}
	if known {
		passed := sent.Mono - old.sent.Mono // not by the wall clock: its being set forward once must not stay
		fresh.latest = max(fresh.latest, old.latest+passed-passed/rate)
	}
	if b.servers == nil {
		b.servers = make(map[string]top)
	}
	b.servers[server] = fresh
	for other, at := range b.servers {
		if received.since(at.sent) > forgets {
			delete(b.servers, other)
		}
	}
}

// Until is the local instant until which a grant of a server's stands that was told by a message, however late that
// came, and the earliest one at which it can have been made. It reports false if that cannot be shown, or if less than
// half of it is sure to be left: then the server has to be asked.
//
//   - That server must have answered. What another one says does not count.
//   - The bound must not be before the grant was made: somebody set the server's clock forward since its last answer.
//   - The last answer must be younger than the grant is long. If the message is so late that the grant is over, that
//     answer was given after the grant was made, by the clock that the grant's end was reckoned with.
//   - What is left by the bound is shortened by the margin that every lease has, and by a hundredth for an answer that
//     may have lowered the bound. Tick is that of the wheel which ends the hold.
func (b *Bound) Until(
	server string, now Instant, grant Span, tick time.Duration,
) (until, since time.Duration, ok bool) {
	b.mu.Lock()
	at, known := b.servers[server]
	b.mu.Unlock()
	passed := now.since(at.sent)
	latest := at.latest + passed + passed/rate
	from, length := time.Duration(grant.From)*time.Microsecond, grant.length()
	margin := watchdog.Margin(length, tick) + length/rate
	if !known || latest < from || passed >= length-margin {
		return 0, 0, false
	}
	left := from + length - latest - margin
	if left < length/2 {
		return 0, 0, false
	}
	return now.Mono + left, now.Mono - (latest - from), true
}
