package etcdstore

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// past is what was seen of an etcd, by which it is known again: its cluster, and how far it was. A revision never
// falls, unless a snapshot was restored. Then nothing is certain that was: keys are there again, or not any more, and a
// watch that begins at a revision of the past would wait until that comes once more.
type past struct {
	mu       sync.Mutex // guards what follows
	cluster  uint64     // 0: none was seen yet
	revision int64
}

// latest is the latest revision that was seen.
func (p *past) latest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.revision
}

// goesOn notes what an answer says, to a request that was sent when a revision had been seen. It reports whether that
// is the etcd of before: another cluster is not, whose servers have to be looked at, nor is an etcd that went back.
func (p *past) goesOn(h *pb.ResponseHeader, before int64) (same, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same = p.cluster == 0 || h.ClusterId == p.cluster
	is = same && h.Revision >= before
	if !is {
		p.revision = h.Revision
	}
	p.cluster, p.revision = h.ClusterId, max(p.revision, h.Revision)
	return same, is
}

// saw notes the header of an answer to a request that was sent when a revision had been seen.
func (s *Store) saw(h *pb.ResponseHeader, before int64) {
	same, is := s.past.goesOn(h, before)
	if is {
		return
	}
	if !same {
		s.mu.Lock()
		s.checked = false // it may be that the endpoints are of two clusters
		s.mu.Unlock()
	}
	s.host.Warn("etcd is not what it was: a snapshot was restored, or it is another cluster", "cluster", h.ClusterId,
		"revision", h.Revision, "before", before)
	if now := s.sessions.live(); now != nil {
		for _, number := range now.rewind(h.Revision) {
			s.watcher.drop(number)
		}
		s.sweepSoon(now)
	}
	s.hub.wakeAll()
	s.host.Replaced()
	s.watchSoon()
}

// compare asks etcd how far it is, once at a time. What a server says of itself may be old.
func (s *Store) compare() {
	if !s.looks.comparing.CompareAndSwap(false, true) {
		return
	}
	s.looks.run(func() {
		defer s.looks.comparing.Store(false)
		ctx, cancel, err := s.begin(context.Background())
		if err == nil {
			defer cancel()
			_, _ = s.txn(ctx, "check", 1, nil, []clientv3.Op{clientv3.OpGet(s.baseKey())}, nil)
		}
	})
}

// rewind forgets what was seen of keys later than at a revision, and returns the watches that began there.
func (s *session) rewind(at int64) (watches []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, places := range s.places {
		for n := range places {
			p := &places[n]
			p.seen = min(p.seen, at)
			if p.watch > 0 {
				watches = append(watches, p.watch)
				p.watch = 0
			}
		}
	}
	return watches
}

// wakeAll has all waiters ask again.
func (h *hub) wakeAll() {
	h.mu.Lock()
	type one struct {
		line  *line
		round uint64
	}
	var all []one
	for _, l := range h.lines {
		all = append(all, one{l, l.round})
	}
	h.mu.Unlock()
	for _, one := range all {
		h.wake(one.line, one.round)
	}
}
