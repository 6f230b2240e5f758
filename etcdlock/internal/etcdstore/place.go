package etcdstore

import (
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// place is one key of a session below a name, and the id that has it.
type place struct {
	id    string // "": none
	doubt bool   // a request for the id had no answer, and a copy of it may come until the id is sealed
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

// take gives an id a key below a name, and says whether it had that before.
//
// The keys are used again, by one id after the other: etcd keeps the names of deleted keys until it compacts, and every
// look at who is first reads past them.
func (s *session) take(l *Lock, id string) (key string, had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.placeLocked(l, id)
	if n >= 0 {
		return s.keyAt(l, n), true
	}
	if n = s.placeLocked(l, ""); n >= 0 {
		s.places[l.name][n].id = id
	} else {
		n = len(s.places[l.name])
		s.places[l.name] = append(s.places[l.name], place{id: id})
	}
	return s.keyAt(l, n), false
}

// free takes the key of an id back: it is not in etcd, or not with that id. While a copy of a request may come that
// would put it there, only the id's seal frees it.
func (s *session) free(l *Lock, id string, sealed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.placeLocked(l, id)
	if n < 0 || s.places[l.name][n].doubt && !sealed {
		return
	}
	s.places[l.name][n] = place{}
	if !slices.ContainsFunc(s.places[l.name], func(p place) bool { return p.id != "" }) {
		delete(s.places, l.name)
	}
}

// mistrust notes that a request for an id had no answer.
func (s *session) mistrust(l *Lock, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.placeLocked(l, id); n >= 0 {
		s.places[l.name][n].doubt = true
	}
}

// concede gives the key of an id to another one, which etcd has there.
func (s *session) concede(l *Lock, id, other string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.placeLocked(l, id); n >= 0 {
		s.places[l.name][n] = place{id: other}
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
