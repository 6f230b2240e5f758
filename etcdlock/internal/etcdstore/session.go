package etcdstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	grants "github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
)

// session is a lease of etcd, on which everything hangs that a client has: one for all its locks, so that a renewal is
// one request however many there are. When it ends, etcd deletes all of it, and whatever copy of a request arrives
// later is refused: it would write under a lease that is no more. The client then goes on under a new one.
//
// A session that nothing has confirmed for as long as its lease lasts is over as well, whatever etcd answers from then
// on. A leader may have found the lease at its end, and ordered that it be revoked, which waits to be agreed on. If
// another one is elected meanwhile, it knows of no order, gives every lease its full time again, and answers
// keep-alives, until the order reaches it. What had been acquired under the lease by then would end unseen.
type session struct {
	id clientv3.LeaseID

	mu     sync.Mutex
	since  time.Duration // when the last request was sent that etcd answered with the lease's full time
	at     int64         // the revision of etcd that this answer named; 0: etcd may have been replaced before it
	over   bool          // nothing is done under it any more
	ended  bool          // etcd said that there is no such lease
	places map[string][]place

	told sync.Once // its holds have ended: see tell
}

// valid says since when the lease counts, and that the session is not over.
func (s *session) valid() (since time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, !s.over
}

// confirm notes that etcd has just answered a request with the lease's full time, when that was sent, and at which
// revision etcd was. It returns false if the session is over all the same.
func (s *session) confirm(sent, now, lease time.Duration, at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.since >= lease {
		s.over = true
	}
	if !s.over {
		s.since, s.at = max(s.since, sent), at
	}
	return !s.over
}

// unchanged reports that nothing was written to etcd since it was seen to have the key of an id, as of the last
// keep-alive: then the key stands, without a look at it. Latest is the latest revision that the client has seen. A
// server that says less lags behind, or has gone back to a snapshot.
func (s *session) unchanged(l *Lock, id string, latest int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.placeLocked(l, id)
	return n >= 0 && s.at > 0 && s.at >= latest && s.places[l.name][n].seen >= s.at
}

// ended notes that etcd knows no such lease, and ends all that was held under it.
func (s *Store) ended(now *session) {
	now.mu.Lock()
	now.over, now.ended = true, true
	now.mu.Unlock()
	s.tell(now)
}

// tell ends all holds of a session that is over, whoever has found that out, before the client does anything under
// another lease. When it returns, nobody thinks any more that it holds: nothing would be renewed, and others may have
// it already.
//
// An acquisition may have been answered that the engine has not listed yet. So all is asked for once more, a moment
// later.
func (s *Store) tell(now *session) {
	now.told.Do(func() {
		all := now.held(func(p *place) bool { return p.held > 0 })
		for _, one := range all {
			s.watcher.drop(one.watch)
			s.host.Gone(one.name, one.id, errOver)
		}
		if len(all) > 0 {
			s.soon(s.host.Missed)
		}
	})
}

// sessions make the client's session, one after the other.
type sessions struct {
	making  chan struct{} // has room for the caller that makes a session
	mu      sync.Mutex    // guards present
	present *session      // nil: none was made yet
}

func (s *sessions) current() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present
}

// session returns the client's session, which is made if there is none, or if the last one is over. One that nobody
// has renewed for a while, because nothing was held, is renewed first.
func (s *Store) session(ctx context.Context) (*session, error) {
	if live := s.sessions.live(); live != nil {
		since, _ := live.valid()
		if s.host.Clock.Now()-since < 2*s.lease/3 {
			return live, nil
		}
		if err := s.keepAlive(ctx, live); !errors.Is(err, errOver) {
			return live, notSent(err)
		}
	}
	select {
	case s.sessions.making <- struct{}{}:
		defer func() { <-s.sessions.making }()
	case <-ctx.Done():
		return nil, notSent(ctx.Err())
	}
	if live := s.sessions.live(); live != nil {
		return live, nil
	}
	if last := s.sessions.current(); last != nil {
		s.tell(last)
	}
	if err := s.revoke(ctx); err != nil { // a key on that lease would be in the way, and a copy could still make one
		return nil, notSent(meaning(err))
	}
	made, _, err := ask(ctx, s, s.grant)
	if err != nil {
		return nil, notSent(meaning(err)) // nothing of a lock was sent; a lease that was made in vain ends by itself
	}
	s.adopt(made)
	return made, nil
}

// grant makes a lease for a session. Each request has an id of its own: a copy that comes when the lease of the other
// one is over would make that anew.
func (s *Store) grant(ctx context.Context, on *route) (*session, error) {
	made := &session{
		id: clientv3.LeaseID(rand.Int64N(1<<62) + 1), since: s.host.Clock.Now(), places: make(map[string][]place),
	}
	// The client library would repeat a grant without an answer under another id, and leave the first lease behind.
	reply, err := pb.NewLeaseClient(on.conn).LeaseGrant(ctx, &pb.LeaseGrantRequest{
		ID: int64(made.id), TTL: int64(s.lease / time.Second),
	})
	switch {
	case errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseExist): // by a copy of this request, which was answered "done"
		return made, nil
	case err != nil:
		return nil, err
	case time.Duration(reply.TTL)*time.Second < s.lease:
		return nil, &store.Failure{Fault: store.FaultDefinite, Answered: true, Err: errShorter}
	}
	return made, nil
}

// adopt makes a session the present one.
func (s *Store) adopt(made *session) {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	s.sessions.present = made
}

// revoke ends the lease of the present session, and with it all that hangs on it.
func (s *Store) revoke(ctx context.Context) error {
	now := s.sessions.standing()
	if now == nil {
		return nil
	}
	_, _, err := ask(ctx, s, func(ctx context.Context, on *route) (*clientv3.LeaseRevokeResponse, error) {
		return on.lease.Revoke(ctx, now.id)
	})
	if err != nil && !leaseless(err) {
		return err
	}
	s.ended(now)
	return nil
}

// standing is the present session, if etcd has not said that its lease has ended.
func (s *sessions) standing() *session {
	now := s.current()
	if now == nil {
		return nil
	}
	now.mu.Lock()
	defer now.mu.Unlock()
	if now.ended {
		return nil
	}
	return now
}

// live is the present session, if it is not over.
func (s *sessions) live() *session {
	if now := s.current(); now != nil {
		if _, ok := now.valid(); ok {
			return now
		}
	}
	return nil
}

// fresh is how old the last confirmation of a session may be for an acquisition that comes without one of its own: it
// takes that much of the validity of what is acquired.
func (s *Store) fresh() time.Duration { return s.lease / 12 }

// proven says that the lease of a session stands, and counts from a moment ago, without a request.
func (s *Store) proven(now *session) bool {
	since, ok := now.valid()
	return ok && s.host.Clock.Now()-since <= s.fresh()
}

// counts is since when a hold counts that was asked for at an instant, for a lease of its own, under a session that
// counts since another. The key stands for as long as the session's lease does, so a shorter lease counts from the
// asking, and never so that it is valid for longer than the session's would be.
func (s *Store) counts(since, asked, lease time.Duration) time.Duration {
	latest := grants.ValidUntil(since, s.lease) - grants.ValidUntil(0, lease)
	return max(since, min(asked, latest))
}

var (
	errOver    = errors.New("the client's lease in etcd has ended")
	errShorter = errors.New("etcd granted a shorter lease")
)
