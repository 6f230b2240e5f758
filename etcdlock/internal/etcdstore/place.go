package etcdstore

import (
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// place is one key of a session below a name, and the id that has it: no other id is given the key until nothing of the
// first is in etcd, and nothing can come there.
type place struct {
	id     string // "": none
	asking int    // requests under way that may put the key
	doubt  bool   // one had no answer, and a copy of it may come until the id is sealed
	seen   int64  // the latest revision at which etcd had the key with the id; 0: never, or it is gone since
}

// keyAt is the key of a place: that of etcd's own locks (package concurrency), with a number if it is not the first.
func (s *session) keyAt(l *Lock, n int) string {
	if n == 0 {
		return fmt.Sprintf("%s%x", l.prefix, int64(s.id))
	}
	return fmt.Sprintf("%s%x-%d", l.prefix, int64(s.id), n)
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

// take gives an id a key below a name, if it has none yet, for a request that may put it. The request's end is told to
// landed.
//
// The keys are used again, by one id after the other: etcd keeps the names of deleted keys until it compacts, and every
// look at who is first reads past them.
func (s *session) take(l *Lock, id string) (key string, n int) {
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
	p.id = id
	p.asking++
	return s.keyAt(l, n), n
}

// landed notes how a request of an id ended that may have put the n-th key: with an error, or with the id that etcd has
// there at a revision, if any. If that is another one, the key is that one's.
//
// The place counts its requests because a release does not wait for them: the caller of one may have left, and its id
// is released while the request is still on its way. If the release gave the key back, what the request puts would be
// found by no later release.
func (s *session) landed(l *Lock, n int, id, has string, at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.places[l.name][n]
	p.asking--
	switch {
	case p.id != id: // it was sealed meanwhile
	case store.FaultOf(err) == store.FaultAmbiguous:
		p.doubt = true
	case has == "": // it was refused, which says nothing of what another request has put
	case has == id:
		p.seen = max(p.seen, at)
	default:
		p.id, p.doubt, p.seen = has, false, at
	}
	s.settleLocked(l, n)
}

// free takes the key of an id back, which is not in etcd any more at a revision, or not with that id. While a request
// may come that would put it there, only the id's seal frees it.
//
// The answer may be older than what is known here: it was on its way while the key was put.
func (s *session) free(l *Lock, id string, at int64, sealed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.placeLocked(l, id)
	if n < 0 {
		return
	}
	p := &s.places[l.name][n]
	if p.seen <= at {
		p.seen = 0
	}
	if sealed {
		p.id, p.doubt, p.seen = "", false, 0
	}
	s.settleLocked(l, n)
}

// settleLocked gives the n-th key back if nothing of its id is in etcd or can come there, and forgets a name of which
// no key is anybody's.
func (s *session) settleLocked(l *Lock, n int) {
	if p := &s.places[l.name][n]; p.seen == 0 && !p.doubt && p.asking == 0 {
		p.id = ""
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
