package request

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	// endedFor is how long an end is remembered: longer than a primary goes on answering that was deposed.
	endedFor = 10 * time.Second
	// maxEnded bounds how many are.
	maxEnded = 1 << 15
)

// end is the end of a hold that was confirmed. A primary that was replaced may have confirmed it alone: then the hold
// stands on the new primary, though nobody has it, until its lease is over. So the ends of some seconds are remembered,
// and released once more there. A release names the hold's id, which is never used again: it cannot touch another hold.
type end struct {
	proto store.Protocol
	id    string
	at    time.Duration
}

// era is when a release is begun. It is handed to confirm when it was answered.
//
// Two primaries may answer for one key in the same second: the deposed one, which does not know yet that it is, and the
// new one. A release that the deposed one confirms is forgotten with it. The era counts the replacements that this
// client has noticed. A release whose era is still the same when its answer has come was noted before the next
// replacement was noticed, and will be in the list that Replaced repeats. One whose era is another was under way
// across it: nobody can tell which primary answered, so it is repeated at once.
func (l *ledger) era() int {
	if !l.sender.cfg.Store.Replaceable() {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replaced
}

// confirm takes note of the end of a hold that was confirmed. If a primary was replaced since it was asked for, it is
// not known which one confirmed it.
func (l *ledger) confirm(era int, p store.Protocol, id string) {
	if !l.sender.cfg.Store.Replaceable() {
		return
	}
	one := end{p, id, l.sender.cfg.Clock.Now()}
	l.mu.Lock()
	l.ended = append(l.ended, one)
	l.forgetLocked(one.at)
	late := era != l.replaced
	l.mu.Unlock()
	if late {
		l.again(one)
	}
}

// again releases an id whose end was confirmed, perhaps where that counts for nothing any more.
func (l *ledger) again(one end) {
	l.add(entry{Disowned: Disowned{Proto: one.proto, ID: one.id, Lease: l.sender.cfg.Lease}, again: true})
}

// forgetLocked drops the ends that are too old, or too many.
//
// The list is a slice that is used as a queue: what is forgotten is cleared at once, so that its protocol is not kept
// alive, and the room is used again when half of the slice has been forgotten.
func (l *ledger) forgetLocked(now time.Duration) {
	for l.first < len(l.ended) && (now-l.ended[l.first].at > endedFor || len(l.ended)-l.first > maxEnded) {
		l.ended[l.first] = end{}
		l.first++
	}
	if 2*l.first >= len(l.ended) {
		left := copy(l.ended, l.ended[l.first:])
		clear(l.ended[left:])
		l.ended, l.first = l.ended[:left], 0
	}
}

// replace counts a replacement, and returns the ends that are remembered. Those that come from now on were asked of
// another primary, or see that they were not.
func (l *ledger) replace() []end {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaced++
	l.forgetLocked(l.sender.cfg.Clock.Now())
	return slices.Clone(l.ended[l.first:])
}

// Replaced is called when a primary has been replaced by another one, which may not have heard of the last releases:
// they are released again.
func (s *Sender) Replaced() {
	for _, one := range s.ledger.replace() {
		s.ledger.again(one)
	}
}
