package redlock

import (
	"time"
)

const (
	firstPause = 20 * time.Millisecond // before a failed node is tried again
	lastPause  = 500 * time.Millisecond
)

// health is how a node has answered of late. The mutex of its send queue guards it.
//
// It is silent while a pipeline is unanswered for longer than NodeTimeout, and down once it failed more than once, or
// after a silence, until it works again.
type health struct {
	inFlight bool          // a pipeline is under way
	sentAt   time.Duration // when it was sent
	again    bool          // it is sent for the second time, over a new connection
	rtt      time.Duration // smoothed
	failures int           // since it last worked
	retryAt  time.Duration // after a failure: when the next pipeline may be sent
	why      error         // of the last failure
}

// begins records that a pipeline is sent.
func (h *health) begins(now time.Duration) { h.inFlight, h.sentAt, h.again = true, now, false }

// suspectsAfter returns how long an answer over a connection that is there may take until the connection is suspected,
// as one that was forgotten on the way; 0: it is not. A node whose answers are as slow as that is not suspected, nor is
// one that has just failed, and nobody is where a busy machine may stand still for as long.
func (h *health) suspectsAfter(timeout time.Duration) time.Duration {
	const least, quick = 100 * time.Millisecond, 8
	if timeout >= least && h.failures == 0 && h.rtt > 0 && h.rtt < timeout/quick {
		return timeout / 2
	}
	return 0
}

// suspects records that what is under way is sent once more. Until the node answers, it is not known to be quick.
func (h *health) suspects() { h.again, h.rtt = true, 0 }

// silent reports that the last pipeline has been unanswered for longer than timeout; of a node that is down, that it is
// unanswered. That pipeline finds out whether the node is back, and no other command waits for it.
func (h *health) silent(now, timeout time.Duration) bool {
	return h.inFlight && (h.down() || now-h.sentAt > timeout)
}

// late reports that the node does not answer, but did until a short while ago. It may be slow, or its connection may be
// about to be replaced: it is not yet known to be down.
func (h *health) late(now, timeout time.Duration) bool {
	switch {
	case h.down():
		return false
	case h.inFlight:
		return now-h.sentAt <= 2*timeout
	default:
		return h.failures == 1 && h.retryAt-now < timeout
	}
}

// down reports that the node failed more than once, or after a silence, and has not worked since.
func (h *health) down() bool { return h.failures > 1 }

// refuses returns why nothing is sent now that does not last; nil if it may be sent.
func (h *health) refuses(now, timeout time.Duration) error {
	switch {
	case h.silent(now, timeout):
		return errSilent
	case h.failures > 0 && now < h.retryAt:
		return h.why
	}
	return nil
}

// works records that a pipeline was answered.
func (h *health) works(took, timeout time.Duration) {
	h.inFlight, h.failures, h.why = false, 0, nil
	h.rtt += (min(took, timeout) - h.rtt) / 8
}

// fails records that a pipeline was not answered, or that the server refused it.
//
// A failure after a silence counts as two. The pauses are 20, 40, 80, 160, 320 and then 500 ms, so a node that is back
// has a vote again within half a second. A server in its guard time is asked when that has passed.
func (h *health) fails(now, took, timeout time.Duration, why error, refused *refusal) {
	h.inFlight, h.why = false, why
	if h.failures++; took > timeout {
		h.failures = max(h.failures, 2) // it is not the connection alone
	}
	h.retryAt = now + min(firstPause<<min(h.failures-1, 10), lastPause)
	if refused != nil {
		h.retryAt = max(refused.until, now+firstPause)
	}
}

// waits reports that nothing is to be expected of the node for now. A connection that has just broken does not mean
// that: what is queued is sent again over the next one, 20 ms later.
func (h *health) waits(now, timeout time.Duration) bool {
	return h.down() || h.failures == 1 && h.retryAt-now > firstPause || h.silent(now, timeout)
}
