package memstore

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// line is what stands beside a fair lock while anybody waits. In Redis those are three keys, each of which expires by
// itself.
type line struct {
	places []placed         // by ticket
	alive  map[string]int64 // clients, and until when by the queue's clock they live
	record *record          // nil: there is none

	placesEnd, aliveEnd, recordEnd time.Time
}

// placed is a waiter with its place.
type placed struct {
	id     string
	ticket int64
}

// record is what is known of the queue as a whole. Its times are in ms.
type record struct {
	seen, clock int64  // server time of the last call, and what the queue's clock read then
	granted     string // who was invited, or who took the lock, last
	out         int64  // until when nobody in the queue takes the lock, though it is free
	run         int64  // since when it goes from one to the next without being free; 0: it does not
	buried      int64  // when waiters were taken away last whose client was taken for dead
	lone        string // who had the lock when waiters found it held by somebody who was not invited
	ends        int64  // when that one's lease ended, in server time
}

// lineLocked is what stands beside the lock at a key, without what has expired.
func (s *Server) lineLocked(key string) *line {
	l := s.lines[key]
	if l == nil {
		l = &line{alive: make(map[string]int64)}
		s.lines[key] = l
	}
	if len(l.places) > 0 && s.overLocked(l.placesEnd) {
		l.places = nil
	}
	if len(l.alive) > 0 && s.overLocked(l.aliveEnd) {
		clear(l.alive)
	}
	if l.record != nil && s.overLocked(l.recordEnd) {
		l.record = nil
	}
	return l
}

// empty reports that none of the keys stands.
func (l *line) empty() bool { return len(l.places)+len(l.alive) == 0 && l.record == nil }

// forget takes away what is no use where nobody waits.
func (l *line) forget() {
	clear(l.alive)
	l.record = nil
}

func (p placed) compare(other placed) int {
	return cmp.Or(cmp.Compare(p.ticket, other.ticket), strings.Compare(p.id, other.id))
}

// ticket is a waiter's; 0: it has no place.
func (l *line) ticket(id string) int64 {
	if i := l.index(id); i >= 0 {
		return l.places[i].ticket
	}
	return 0
}

func (l *line) index(id string) int {
	return slices.IndexFunc(l.places, func(p placed) bool { return p.id == id })
}

// put gives a waiter a place, which it has instead of an earlier one.
func (l *line) put(id string, ticket int64) {
	l.remove(id)
	one := placed{id, ticket}
	i, _ := slices.BinarySearchFunc(l.places, one, placed.compare)
	l.places = slices.Insert(l.places, i, one)
}

// remove reports how many of these had places.
func (l *line) remove(ids ...string) int {
	before := len(l.places)
	l.places = slices.DeleteFunc(l.places, func(p placed) bool { return slices.Contains(ids, p.id) })
	return before - len(l.places)
}

// newTicket is above all others, and the server's time if it can be.
func (l *line) newTicket(now int64) int64 {
	if n := len(l.places); n > 0 {
		return max(now, l.places[n-1].ticket+1)
	}
	return now
}

// client is the one that a waiter belongs to.
func client(id string) string {
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		return id[:i]
	}
	return id
}
