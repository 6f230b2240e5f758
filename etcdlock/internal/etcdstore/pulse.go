package etcdstore

import (
	"context"
	"errors"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// pulse is the stream by which a client keeps its lease alive. It stays open from one renewal to the next, because the
// client's library logs in for each stream that it opens, and a server takes tens of milliseconds of its processor to
// compare a password.
//
// One request is under way at a time, and a server answers one after the other. So what is received is the answer to
// what was sent last. A request that is given up ends the stream: its answer can never be taken for that to a later
// one, from whose sending the lease would be counted.
type pulse struct {
	turn   chan struct{} // has room for the one that uses the stream, and what follows
	routes *routes
	on     *route // on which the stream is
	stream pb.Lease_LeaseKeepAliveClient
	end    context.CancelFunc // nil: there is no stream
}

func (p *pulse) init(s *Store) { p.routes, p.turn = &s.routes, make(chan struct{}, 1) }

// close ends the stream.
func (p *pulse) close() {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.drop()
}

// ask sends a request on the stream, or on a new one, and returns its answer, and when it was sent. A stream that has
// stood for a while may be of a server that is gone, or that has lost its leader since: then a new one is asked. On is
// the route of the last one.
func (p *pulse) ask(ctx context.Context, s *Store, id clientv3.LeaseID) (
	reply *pb.LeaseKeepAliveResponse, sent time.Duration, on *route, err error,
) {
	for {
		old := p.end != nil
		reply, sent, on, err = p.askOnce(ctx, s, id)
		if err == nil || !old || ctx.Err() != nil {
			return reply, sent, on, err
		}
	}
}

func (p *pulse) askOnce(ctx context.Context, s *Store, id clientv3.LeaseID) (
	reply *pb.LeaseKeepAliveResponse, sent time.Duration, on *route, err error,
) {
	on = p.routes.take()
	if p.on != on {
		p.drop()
	}
	if p.end == nil {
		var life context.Context
		life, p.end = context.WithCancel(clientv3.WithRequireLeader(s.life))
		p.on = on
		s.looks.sweepDue.Store(true)
		defer context.AfterFunc(ctx, p.end)()
		p.stream, err = pb.NewLeaseClient(on.conn).LeaseKeepAlive(life)
	} else {
		p.routes.give(on) // the stream keeps it
		defer context.AfterFunc(ctx, p.end)()
	}
	if err == nil {
		sent = s.host.Clock.Now()
		err = p.stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)})
	}
	if err == nil || errors.Is(err, io.EOF) { // of a stream that has ended: what is received says why
		reply, err = p.stream.Recv()
	}
	if answered(err) {
		p.routes.hears(on)
	}
	if ctx.Err() != nil { // which has ended the stream
		err = ctx.Err()
	}
	p.routes.judge(on, err)
	if err != nil {
		p.drop()
	}
	return reply, sent, on, err
}

// drop ends the stream.
func (p *pulse) drop() {
	if p.end != nil {
		p.end()
		p.routes.give(p.on)
		p.on, p.stream, p.end = nil, nil, nil
	}
}

// keepAlive renews the lease. A server that does not answer in half of the time is given up for another one: it may be
// frozen, or its connection forgotten, and that looks well. If no other route is found, the stream is opened anew: the
// application's client may know several servers.
func (s *Store) keepAlive(ctx context.Context, now *session) error {
	at, _ := ctx.Deadline()
	half := time.Until(at) / 2
	first, cancel := context.WithTimeout(ctx, half)
	on, err := s.keepAliveOnce(first, now)
	late := first.Err() != nil
	cancel()
	if err == nil || errors.Is(err, errOver) {
		return err
	}
	if late && on != nil && s.routes.silent(on, half/2) {
		next := s.routes.instead(ctx, on)
		if next != nil {
			defer s.routes.give(next)
		}
	}
	s.watcher.restart() // its server may be the same
	_, err = s.keepAliveOnce(ctx, now)
	return err
}

// keepAliveOnce also returns the route on which it asked; nil: it did not.
func (s *Store) keepAliveOnce(ctx context.Context, now *session) (on *route, err error) {
	began := s.host.Clock.Now()
	select {
	case s.pulse.turn <- struct{}{}:
		defer func() { <-s.pulse.turn }()
	case <-ctx.Done():
		return nil, meaning(ctx.Err())
	}
	if since, ok := now.valid(); ok && since >= began { // by a request that was sent since
		return nil, nil
	}
	reply, sent, on, err := s.pulse.ask(ctx, s, now.id)
	switch {
	case errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound), err == nil && reply.TTL <= 0:
		s.ended(now)
		return on, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errOver}
	case err != nil:
		return on, meaning(err)
	case reply.ID != int64(now.id), time.Duration(reply.TTL)*time.Second < s.lease: // it proves less than is relied on
		s.pulse.drop()
		return on, meaning(errAnswer)
	}
	at := reply.Header.GetRevision()
	if s.looks.sweepDue.Load() { // the stream is new, so its server may go on from a snapshot
		at = 0
	}
	if !now.confirm(sent, s.host.Clock.Now(), s.lease, at) {
		s.tell(now)
		return on, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errOver}
	}
	if s.looks.sweepDue.Load() {
		s.sweepSoon(now)
	}
	return on, nil
}
