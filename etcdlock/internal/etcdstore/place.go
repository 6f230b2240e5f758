package etcdstore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// place is one key of a session below a name, and the id that has it: no other id is given the key until nothing of the
// first is in etcd, and nothing can come there.
type place struct {
	id     string // "": none
	asking int    // requests under way that may put the key
	doubt  bool   // one had no answer, and a copy of it may come until the session is sealed
	named  int64  // the latest revision that one named: see unsealed
	left   bool   // the id was released since it was last asked for
	seen   int64  // the latest revision at which etcd had the key with the id; 0: never, or it is gone since

	held  int64         // the revision at which the key was made, if the id holds the lock with it; 0: it does not
	since time.Duration // it has been told that it does
	watch int64         // the number of the watch on the key; 0: there is none
}

// keyAt is the key of a place: that of etcd's own locks (package concurrency), with a number if it is not the first.
func (s *session) keyAt(l *Lock, n int) string { return s.keyBelow(l.prefix, n) }

func (s *session) keyBelow(prefix string, n int) string {
	if n == 0 {
		return fmt.Sprintf("%s%x", prefix, int64(s.id))
	}
	return fmt.Sprintf("%s%x-%d", prefix, int64(s.id), n)
}

// placeLocked is the number of the place that an id has below a name; -1: none.
func (s *session) placeLocked(l *Lock, id string) int {
	return slices.IndexFunc(s.places[l.name], func(p place) bool { return p.id == id })
}

// keyOf is the key that an id has below a name. It has none if nothing of it is in etcd, or will be.
func (s *session) keyOf(l *Lock, id string) (key string, has bool) {
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.placeLocked(l, id)
	if n < 0 {
		return "", false
	}
	return s.keyAt(l, n), true
}

// take gives an id a key below a name, if it has none yet, for a request that may put it, and names a revision. The
// request's end is told to landed.
//
// The keys are used again, by one id after the other: etcd keeps the names of deleted keys until it compacts, and every
// look at who is first reads past them.
func (s *session) take(l *Lock, id string, named int64) (key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = s.placeLocked(l, id); n < 0 {
		n = s.placeLocked(l, "")
	}
	if n < 0 {
		n = len(s.places[l.name])
		s.places[l.name] = append(s.places[l.name], place{})
	}
	p := &s.places[l.name][n]
	p.id, p.left, p.named = id, false, max(p.named, named)
	p.asking++
	return s.keyAt(l, n), n
}

// renames has a request of an id be sent once more that names another revision. It reports false if the id was released
// meanwhile, which is not asked for any more.
func (s *session) renames(l *Lock, n int, id string, named int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.places[l.name][n]
	if p.id != id || p.left {
		return false
	}
	p.named = max(p.named, named)
	return true
}

// leaves notes that an id is about to be released, and returns its key, if it has one, and whether a request may still
// come that puts it.
func (s *session) leaves(l *Lock, id string) (key string, copied, has bool) {
	if s == nil {
		return "", false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.placeLocked(l, id)
	if n < 0 {
		return "", false, false
	}
	p := &s.places[l.name][n]
	p.left = true
	return s.keyAt(l, n), p.doubt || p.asking > 0, true
}

// landed notes how a request of an id ended that may have put the n-th key: with an error, or with the id that etcd has
// there at a revision, if any. If that is another one, the key is that one's, and strange if this client has not put it
// there: see deleteStrange. Twice says that a copy of the request was sent, which may come later.
//
// The place counts its requests because a release does not wait for them: the caller of one may have left, and its id
// is released while the request is still on its way. If the release gave the key back, what the request puts would be
// found by no later release.
func (s *session) landed(l *Lock, n int, id, has string, at int64, twice bool, err error) (strange bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.places[l.name][n]
	p.asking--
	unsure := store.FaultOf(err) == store.FaultAmbiguous
	if p.id == id && (unsure || twice) {
		p.doubt = true
	}
	switch {
	case p.id != id, unsure: // it was sealed meanwhile; nothing is known
	case has == "": // it was refused, which says nothing of what another request has put
	case has == id:
		p.seen = max(p.seen, at)
	default:
		*p = place{id: has, asking: p.asking, seen: at}
		strange = true
	}
	s.settleLocked(l, n)
	return strange
}

// free takes the key of an id back, which is not in etcd any more at a revision, or not with that id. While a request
// may come that would put it there, only a seal frees it, which was written at that revision: that reports false if a
// request has named a later one, as where etcd went back to a snapshot meanwhile.
//
// The answer may be older than what is known here: it was on its way while the key was put.
func (s *session) free(l *Lock, id string, at int64, sealed bool) (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.placeLocked(l, id)
	if n < 0 {
		return true
	}
	p := &s.places[l.name][n]
	if p.seen <= at {
		p.seen = 0
	}
	done = !sealed || p.named < at
	if sealed && done {
		*p = place{asking: p.asking}
	}
	s.settleLocked(l, n)
	return done
}

// settleLocked gives the n-th key back if nothing of its id is in etcd or can come there, and forgets a name of which
// no key is anybody's.
func (s *session) settleLocked(l *Lock, n int) {
	if p := &s.places[l.name][n]; p.seen == 0 && !p.doubt && p.asking == 0 {
		*p = place{}
	}
	if !slices.ContainsFunc(s.places[l.name], func(p place) bool { return p.id != "" || p.asking > 0 }) {
		delete(s.places, l.name)
	}
}

// What a key has for its value is the id, a line feed, and what is noted of the hold.
const valueEnd = "\n"

func valueOf(id string, noted []byte) string { return id + valueEnd + string(noted) }

// stands are the conditions that a key is there and is an id's, whatever is noted behind it.
func stands(key, id string) []clientv3.Cmp {
	const after = "\v" // the byte after the line feed
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.Value(key), ">", id), clientv3.Compare(clientv3.Value(key), "<", id+after),
	}
}

// idOf is the id whose key this is, and what is noted of it. The keys of etcd's own clients have no id in them: what
// follows the lock's name stands for it.
func (l *Lock) idOf(kv *mvccpb.KeyValue) (id string, noted []byte) {
	return idBelow(l.prefix, kv)
}

func idBelow(prefix string, kv *mvccpb.KeyValue) (id string, noted []byte) {
	if id, rest, ours := strings.Cut(string(kv.Value), valueEnd); ours {
		return id, []byte(rest)
	}
	return strings.TrimPrefix(string(kv.Key), prefix), nil
}
