package request

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Attempts are the requests that were sent under one id, as far as their outcome is unknown. They belong to the
// goroutine that sends them; of the zero Attempts nothing was sent. They are settled before they are forgotten: the id
// becomes a hold's, or is disowned.
//
// A request without an answer may have been carried out, or may still be. A refused request has certainly taken
// nothing; but networks double requests, and a copy that arrives later, when the lock has become free, is granted. Such
// a copy is recognised by the id: the next request is answered "already". If there is no next request, what the copy
// took ends with its lease. What has none, and the marks of waiters, are disowned.
type Attempts struct {
	lost    bool          // a request had no answer
	since   time.Duration // when the first of those was sent that may have begun a lease
	last    time.Duration // when the last of those was sent
	late    store.Late    // until when one of those may be carried out
	refused store.Receipt // of the last request that was refused; zero: none was
}

// Lost notes a request without an answer. The earliest sending counts for when a lease may have begun, and the latest
// end for when the last copy can come. For example, of two requests sent at 5 s and 7 s, none of which is carried out
// later than 1.5 s after its sending, the hold may be one whose lease began at 5 s, and the id can be forgotten at 8.5
// s.
func (a *Attempts) Lost(sent store.Receipt) {
	if !a.lost {
		a.since, a.lost = sent.Since, true
	}
	a.last, a.late = sent.Since, max(a.late, sent.Late)
}

// Refused notes a request that was refused. That settles none of those before it. For example, on PostgreSQL a first
// request took the lock at 5 s, and its commit waits for a standby that stands still until 8 s. One that is sent at 7 s
// is told that another has the row, for nobody sees what was not committed; one that is sent at 9 s finds that it has
// the lock, by a lease that began at 5 s.
//
// What a request took is over when so much time has passed since its sending as span says. So a waiter that lost an
// answer long ago does not have its hold count from then. A server's clock that is set back makes it last longer; then
// the rest of the lease that the answer tells bounds the hold.
func (a *Attempts) Refused(sent store.Receipt, span time.Duration) {
	a.refused = sent
	if a.lost && sent.Since > a.last+span {
		a.since = sent.Since
	}
}

// Silence is for how long the store has not answered.
func (a *Attempts) Silence(now time.Duration) time.Duration {
	if !a.lost {
		return 0
	}
	return now - max(a.since, a.refused.Since)
}

// After is a with one request more, of which the caller left before the answer, and that ended with err.
func (a Attempts) After(sent store.Receipt, err error) Attempts {
	if store.FaultOf(err) == store.FaultAmbiguous {
		a.Lost(sent)
	}
	return a
}

// HandOver forgets the requests without an answer: another goroutine settles them.
func (a *Attempts) HandOver() { *a = Attempts{refused: a.refused} }

// InDoubt reports that a request had no answer.
func (a *Attempts) InDoubt() bool { return a.lost }

// Since is when the first request was sent that had no answer and may have begun a lease; if there is none, at start.
func (a *Attempts) Since(start time.Duration) time.Duration {
	if a.lost {
		return min(start, a.since)
	}
	return start
}

// SinceAny is the same for a hold that the store says was there already when it was asked at start: a copy of the
// request that was refused last may have taken it, too.
func (a *Attempts) SinceAny(start time.Duration) time.Duration {
	if a.refused != (store.Receipt{}) {
		start = min(start, a.refused.Since)
	}
	return a.Since(start)
}

// Late is until when a request without an answer may be carried out.
func (a *Attempts) Late() store.Late { return a.late }

// CopyLate is until when a copy of the last request that was refused may be carried out.
func (a *Attempts) CopyLate() store.Late { return a.refused.Late }
