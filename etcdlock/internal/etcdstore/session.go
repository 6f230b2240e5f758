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
	over   bool          // nothing is done under it any more
	ended  bool          // etcd said that there is no such lease
	seals  []seal        // the oldest first
	places map[string][]place
}

// valid says since when the lease counts, and that the session is not over.
func (s *session) valid() (since time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, !s.over
}

// confirm notes that etcd has just answered a request with the lease's full time, and when that was sent. It returns
// false if the session is over all the same.
func (s *session) confirm(sent, now, lease time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.since >= lease {
		s.over = true
	}
	if !s.over {
		s.since = max(s.since, sent)
	}
	return !s.over
}

// end notes that etcd knows no such lease.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.ended = true, true
}

// sessions make the client's session, one after the other.
type sessions struct {
	making  chan struct{} // has room for the one that makes a session
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
	if err := s.revoke(ctx); err != nil { // a key on that lease would be in the way, and a copy could still make one
		return nil, notSent(meaning(err))
	}
	made := &session{id: clientv3.LeaseID(rand.Int64N(1<<62) + 1), places: make(map[string][]place)}
	sent := s.host.Clock.Now()
	// The client library would repeat a grant without an answer under another id, and leave the first lease behind.
	reply, err := pb.NewLeaseClient(s.cli.ActiveConnection()).LeaseGrant(ctx, &pb.LeaseGrantRequest{
		ID: int64(made.id), TTL: int64(s.lease / time.Second),
	})
	if errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseExist) { // by a copy of this request, which was answered "done"
		s.adopt(made, sent)
		return made, nil
	}
	if err != nil {
		return nil, notSent(meaning(err)) // nothing of a lock was sent; a lease that was made in vain ends by itself
	}
	if granted := time.Duration(reply.TTL) * time.Second; granted < s.lease {
		return nil, &store.Failure{Fault: store.FaultDefinite, Answered: true, Err: errShorter}
	}
	s.adopt(made, sent)
	return made, nil
}

// adopt makes a session the present one, whose lease was asked for at an instant.
func (s *Store) adopt(made *session, sent time.Duration) {
	made.since = sent
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
	if _, err := s.cli.Revoke(ctx, now.id); err != nil && !leaseless(err) {
		return err
	}
	now.end()
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

// keepAlive renews the lease. A server that does not answer in half of the time is given up for another one, if the
// client knows several: it may be frozen, and its connection looks well.
func (s *Store) keepAlive(ctx context.Context, now *session) error {
	at, _ := ctx.Deadline()
	first, cancel := context.WithTimeout(ctx, time.Until(at)/2)
	err := s.keepAliveOnce(first, now)
	cancel()
	if err == nil || errors.Is(err, errOver) {
		return err
	}
	return s.keepAliveOnce(ctx, now)
}

var (
	errOver    = errors.New("the client's lease in etcd has ended")
	errShorter = errors.New("etcd granted a shorter lease")
)

func (s *Store) keepAliveOnce(ctx context.Context, now *session) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	sent := s.host.Clock.Now()
	stream, err := pb.NewLeaseClient(s.cli.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		return meaning(err)
	}
	if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(now.id)}); err != nil {
		return meaning(err)
	}
	reply, err := stream.Recv()
	switch {
	case errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound), err == nil && reply.TTL <= 0:
		now.end()
		return &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errOver}
	case err != nil:
		return meaning(err)
	case reply.ID != int64(now.id), time.Duration(reply.TTL)*time.Second < s.lease: // it proves less than is relied on
		return meaning(errAnswer)
	}
	if !now.confirm(sent, s.host.Clock.Now(), s.lease) {
		return &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errOver}
	}
	return nil
}
