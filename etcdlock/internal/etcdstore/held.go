package etcdstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// watchAfter is how long a lock has been held when its key is begun to be watched. Most holds last for milliseconds,
// and a watch costs two messages. It begins where the key was seen last, so it misses nothing.
const watchAfter = time.Second

// looks are what a client does about its holds without being asked. Close joins them.
type looks struct {
	watching  atomic.Bool // a goroutine has the keys watched of holds that get older
	asking    atomic.Bool // one asks whether the lease stands
	comparing atomic.Bool // one asks how far etcd is
	sweepDue  atomic.Bool // what hangs on the lease is to be looked at: see sweep

	mu      sync.Mutex // guards what follows
	closed  bool
	running sync.WaitGroup
}

func (l *looks) run(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.running.Go(f)
	}
}

func (l *looks) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.running.Wait()
}

// soon calls f when the time has passed after which holds are watched.
func (s *Store) soon(f func()) {
	s.looks.run(func() {
		select {
		case <-time.After(watchAfter):
			f()
		case <-s.life.Done():
		}
	})
}

// hold is what is known of a hold where it is not asked for by its id.
type hold struct {
	name, id, key string
	watch         int64
}

// held are those of a session's holds that which says.
func (s *session) held(which func(p *place) bool) (all []hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, places := range s.places {
		for n := range places {
			if p := &places[n]; which(p) {
				all = append(all, hold{name, p.id, s.keyBelow(name+"/", n), p.watch})
			}
		}
	}
	return all
}

// holds notes that an id has the lock, by a key that was made at a revision. It reports false if the session is over,
// of which everybody has been told already.
func (s *Store) holds(now *session, l *Lock, id string, made int64) bool {
	now.mu.Lock()
	over, n := now.over, now.placeLocked(l, id)
	if !over && n >= 0 && now.places[l.name][n].held == 0 {
		p := &now.places[l.name][n]
		p.held, p.since = made, s.host.Clock.Now()
	}
	now.mu.Unlock()
	if !over {
		s.watchSoon()
	}
	return !over
}

// watchSoon has holds watched that are old enough by then.
func (s *Store) watchSoon() {
	if s.looks.watching.CompareAndSwap(false, true) {
		s.soon(s.watchHolds)
	}
}

// Stands is the condition of a transaction that the key is there by which an id holds the lock. It is not known for
// an id that does not hold it, as far as this client knows.
func (l *Lock) Stands(id string) (stands clientv3.Cmp, known bool) {
	now := l.store.sessions.live()
	if now == nil {
		return stands, false
	}
	now.mu.Lock()
	defer now.mu.Unlock()
	n := now.placeLocked(l, id)
	if n < 0 || now.places[l.name][n].held == 0 {
		return stands, false
	}
	made := now.places[l.name][n].held
	return clientv3.Compare(clientv3.CreateRevision(now.keyAt(l, n)), "=", made), true
}

// watchHolds has the keys of holds watched that are old enough, and is called again while some are not.
func (s *Store) watchHolds() {
	s.looks.watching.Store(false)
	now := s.sessions.live()
	if now == nil {
		return
	}
	old, young := s.host.Clock.Now()-watchAfter, false
	for _, one := range now.held(func(p *place) bool {
		isOld := p.held > 0 && p.since <= old
		young = young || p.held > 0 && !isOld
		return isOld && p.watch == 0
	}) {
		s.watchHold(now, one)
	}
	if young {
		s.watchSoon()
	}
}

// watchHold has the key of a hold watched, whose end is told at once if the key is deleted. The watch is noted under
// the mutex under which its end is: that may be told before watch has returned.
func (s *Store) watchHold(now *session, one hold) {
	l := s.Lock(one.name)
	now.mu.Lock()
	defer now.mu.Unlock()
	n := now.placeLocked(l, one.id)
	if n < 0 || now.over {
		return
	}
	if p := &now.places[l.name][n]; p.held > 0 && p.watch == 0 {
		p.watch = s.watcher.watch(one.key, p.seen+1, func(at int64) { s.deleted(now, l, one.id, at) })
	}
}

// unhold notes that an id does not hold any more, as far as this client is concerned, and whether it did.
func (s *Store) unhold(now *session, l *Lock, id string) (held bool) {
	now.mu.Lock()
	var watch int64
	if n := now.placeLocked(l, id); n >= 0 {
		p := &now.places[l.name][n]
		held, watch = p.held > 0, p.watch
		p.held, p.watch = 0, 0
	}
	now.mu.Unlock()
	s.watcher.drop(watch)
	return held
}

// leaving says that an id is about to be released: see leaves.
func (s *Store) leaving(now *session, l *Lock, id string) (key string, copied, has bool) {
	s.hub.leave(l.name, id)
	if key, copied, has = now.leaves(l, id); has {
		s.unhold(now, l, id)
	}
	return key, copied, has
}

// stood notes that the key of an id was there at a revision.
func (s *session) stood(l *Lock, id string, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.placeLocked(l, id); n >= 0 {
		p := &s.places[l.name][n]
		p.seen = max(p.seen, at)
	}
}

// left notes that the key of an id was not there any more at a revision, or not with that id.
func (s *Store) left(now *session, l *Lock, id string, at int64) {
	s.unhold(now, l, id)
	now.free(l, id, at, false)
}

// deleted is told that the key of a hold was deleted at a revision, or, with 0, that it cannot be seen whether it was.
//
// A hold whose key was deleted ends now. If somebody has revoked the lease, all others end as well: so the lease is
// asked for, once at a time, since each watched key brings this here.
func (s *Store) deleted(now *session, l *Lock, id string, at int64) {
	if at == 0 {
		s.unseen(now, l, id)
		return
	}
	if !s.unhold(now, l, id) {
		return // it was released meanwhile, or its end was told before
	}
	now.free(l, id, at, false)
	s.host.Gone(l.name, id, nil)
	if s.looks.asking.CompareAndSwap(false, true) {
		s.looks.run(func() {
			defer s.looks.asking.Store(false)
			ctx, cancel, err := s.begin(context.Background())
			if err == nil {
				defer cancel()
				_ = s.keepAlive(ctx, now)
			}
		})
	}
}

// unseen has the key of a hold looked at, and watched again. Etcd has forgotten what was done at the revision at which
// the key was seen last.
func (s *Store) unseen(now *session, l *Lock, id string) {
	now.mu.Lock()
	if n := now.placeLocked(l, id); n >= 0 {
		now.places[l.name][n].watch = 0
	}
	now.mu.Unlock()
	s.host.Broken(l.name, id)
	s.watchSoon()
}
