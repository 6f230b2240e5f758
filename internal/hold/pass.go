package hold

import "time"

// healthyLocked reports that more than half of a lease is left of the hold's validity, and its last renewal did not
// fail: otherwise Redis is to be asked whether it stands.
func (h *Hold) healthyLocked(now, lease time.Duration) bool {
	return h.Lease.ValidUntil()-now > lease/2 && !h.Lease.Failing()
}

// PassTo makes next the turn after h, under the same grant. The watchdog goes on from the validity that Redis last
// confirmed, which passing on does not raise. It reports false, and leaves next alone, if Redis has to be asked:
//
//   - the lease is half over, or its last renewal failed;
//   - the lease of one of them is not renewed, or the next one wants another;
//   - a step of h's levels is unanswered: it is about the levels of h, and not of the next;
//   - another side was asked for inside h: what came of that would be inside the next turn, in whose way it is;
//   - h was limited: the release is what tells that the limit was kept, or has the lock kept for longer;
//   - the next one has the lock kept (MinHold): it is to be counted from a grant of its own.
//
// The owner of h is done with it: its contexts have ended, and h is not live. Nobody else may know of next.
//
// The decision and the making of next's steps are under h's mutex, and h is not live: nobody can nest in it, ask for
// another side inside it, or join it any more, so what was found settled stays so. For example, a writer's hold in
// whose context a read was asked for: if MarkOuter came first, h is marked and does not pass; if the unlock came
// first, h is not live, and the read is refused.
func (h *Hold) PassTo(next *Hold, want Want) bool {
	now, until := h.host.Clock.Now(), h.Lease.ValidUntil()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.passesLocked(now, want) {
		return false
	}
	next.host, next.start, next.lease, next.kept = h.host, now, h.lease, true
	h.steps.inherit(next)
	h.host.Watchdog.Keep(&next.Lease, until-ValidUntil(0, want.Lease), want.Lease)
	return true
}

// passesLocked is the decision of PassTo; h's mutex is held.
func (h *Hold) passesLocked(now time.Duration, want Want) bool {
	same := h.kept && want.Kept && want.Lease == h.lease && want.MinHold == 0
	alone := h.settledLocked() && !h.inner && h.limit == nil
	return h.healthyLocked(now, want.Lease) && same && alone
}
