package request

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	// recentFor is how long a release is remembered: longer than a primary goes on answering that was deposed.
	recentFor = 10 * time.Second
	// maxRecent bounds how many are.
	maxRecent = 1 << 15
)

// recent remembers the ends of holds that Redis confirmed a while ago. A primary that was replaced may have
// confirmed them alone: then the holds stand on the new one, though nobody has them, until their leases
// are over. So they are released there again. A release names the hold's id, which is never used again: it
// cannot touch another hold.
type recent struct {
	sender *Sender

	mu       sync.Mutex // guards all below
	ends     []ending   // in the order of time, from first on
	first    int
	replaced int // how many times a primary was
}

type ending struct {
	proto store.Protocol
	id    string
	at    time.Duration
}

// era is when a release is begun. It is handed to add when it was confirmed.
//
// Two primaries may answer for one key in the same second: the deposed one, which does not know yet that it is, and the
// new one. A release that the deposed one confirms is forgotten with it. The era counts the replacements that this
// client has noticed. A release whose era is still the same when its answer has come was noted before the next
// replacement was noticed, and will be in the list that Replaced repeats. One whose era is another was under way
// across it: nobody can tell which primary answered, so it is repeated at once.
func (r *recent) era() int {
	if !r.sender.cfg.Store.Replaceable() {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replaced
}

// add takes note of the end of a hold that was confirmed. If a primary was replaced since it was asked for, it is
// not known which one confirmed it.
func (r *recent) add(era int, p store.Protocol, id string) {
	if !r.sender.cfg.Store.Replaceable() {
		return
	}
	end := ending{p, id, r.sender.cfg.Clock.Now()}
	r.mu.Lock()
	r.ends = append(r.ends, end)
	r.forgetLocked(end.at)
	late := era != r.replaced
	r.mu.Unlock()
	if late {
		r.sender.reclaim.again(p, id)
	}
}

// forgetLocked drops what is too old, or too much.
//
// The list is a slice that is used as a queue: what is forgotten is cleared at once, so that its protocol is not kept
// alive, and the room is used again when half of the slice has been forgotten.
func (r *recent) forgetLocked(now time.Duration) {
	for r.first < len(r.ends) && (now-r.ends[r.first].at > recentFor || len(r.ends)-r.first > maxRecent) {
		r.ends[r.first] = ending{}
		r.first++
	}
	if 2*r.first >= len(r.ends) {
		left := copy(r.ends, r.ends[r.first:])
		clear(r.ends[left:])
		r.ends, r.first = r.ends[:left], 0
	}
}

// all are the ends that are remembered. Those that come from now on were asked of another primary, or see that
// they were not.
func (r *recent) all() []ending {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replaced++
	r.forgetLocked(r.sender.cfg.Clock.Now())
	return append([]ending(nil), r.ends[r.first:]...)
}

// Replaced is called when a primary has been replaced by another one, which may not have heard of the last releases:
// they are released again.
func (s *Sender) Replaced() {
	for _, end := range s.recent.all() {
		s.reclaim.again(end.proto, end.id)
	}
}
