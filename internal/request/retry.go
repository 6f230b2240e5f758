package request

import (
	"context"
	"time"
)

// The pauses between attempts that got no answer, which double from the first to the last.
const (
	FirstPause = 10 * time.Millisecond
	LastPause  = 500 * time.Millisecond
)

// Next is what follows an attempt.
type Next int8

// What can follow an attempt. A refusal that will not change (no permission, a key of another type) is given up at
// once: it would be the same at the end, and the caller learns of it now.
const (
	Settled Next = iota // nothing: its outcome is known
	Later               // another one, after a pause
	GiveUp              // nothing: another one would have the same answer
)

// Retry makes attempts until one is settled. It reports false if one gave up, if the next would come after end, or if
// ctx or the Sender ended first: then what the attempts may have done is the caller's to clean up.
//
// There is no bound on the number of attempts but end: a server that restarts for ten seconds answers the one that
// comes then. Pauses double so that many clients do not keep a server busy that is trying to come up, and stop
// doubling at half a second so that none of them is noticed by a waiter.
//
// The same request is sent again, under the same id, so an attempt whose reply was lost and that was carried out is
// answered "already": no attempt has to know what became of the one before.
func (s *Sender) Retry(ctx context.Context, end time.Duration, attempt func() Next) bool {
	for pause := FirstPause; ; {
		switch attempt() {
		case Settled:
			return true
		case GiveUp:
			return false
		}
		if s.cfg.Clock.Now()+pause >= end || !s.Pause(ctx, pause) {
			return false
		}
		pause = min(2*pause, LastPause)
	}
}

// Pause sleeps for d; it reports false if ctx or the Sender ended first.
func (s *Sender) Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}
