package localqueue

import "time"

// Said is what the store last said of a key to this process, whoever asked: of several requests the one that ended
// last. Every caller that gives up is told that, since what one of them learned concerns all. The zero Said is that of
// a key of which no request has ended.
type Said struct {
	At    time.Duration // when the request ended
	Spoke bool          // the store answered it: the one that asked has the key now, or another had it
	Err   error         // why there was no answer, or with Spoke why the answer is of no use; nil if there was one

	// Why is what an answer said in place of "busy". It concerns those of the same mode that want as much, since a
	// permit may be free where three are not; or all of the mode, if Size is 0.
	Why  error
	Mode string
	Size int64
}

// WhyTo is what is said in place of "busy" to one of a mode that wants so much; nil: nothing is.
func (s Said) WhyTo(mode string, size int64) error {
	if s.Mode != mode || s.Size != 0 && s.Size != size {
		return nil
	}
	return s.Why
}

// Say notes what the store said. An answer of a request that ended earlier changes nothing.
func (q *Queue) Say(said Said) {
	if said.At < q.said.At {
		return
	}
	if said.Err != nil && (q.said.Err == nil || said.Spoke) {
		q.silence = said.At
	}
	if q.said = said; said.Err != nil {
		q.askerIsDone(q.asker)
	}
}

// Said is what the store last said.
func (q *Queue) Said() Said { return q.said }

// SilentSince is when the first of the requests failed to which there was no answer, so that waiters that come to ask
// one after the other share one patience. It is now if the last one was answered.
func (q *Queue) SilentSince(now time.Duration) time.Duration {
	if q.said.Err == nil {
		return now
	}
	return q.silence
}
