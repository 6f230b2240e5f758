package zkstore

import (
	"context"
	"errors"
	"sync"
	"time"

	grants "github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// session is a session of ZooKeeper, with the connection to which it is attached. When it ends, the servers delete
// every node that was made under it, and refuse whatever arrives later.
//
// It ends when a server says so, or when the client gives it up, because nothing has proven it for as long as it lasts:
// see giveUp. What was held under it is over then by the client's own clock.
type session struct {
	store *Store

	attaching chan struct{} // has room for the caller that attaches

	mu     sync.Mutex // guards what follows, and what the places say
	wire   wire.Session
	conn   *wire.Conn // nil: none
	number int64      // of the connection: they are numbered over all sessions of the client
	base   watchedBase
	server int // that it leads to
	since  time.Duration
	over   bool // nothing is done under it any more

	places map[string]*place // by the prefixes of their paths
	bytes  int               // of these paths
	used   bool              // something was sent since the session was attached last
	busy   int               // requests under way
	idle   chan struct{}     // closed when none is any more; nil: nobody waits for that
	gate   chan struct{}     // closed when requests may go on; nil: they may
	timer  *time.Timer       // until the session is attached again though nothing is held

	told sync.Once // its holds have ended
}

// valid says since when the session counts: that is when the handshake was sent with which it was attached last.
func (n *session) valid() (since time.Duration, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.since, !n.over
}

// enter returns the connection for a request, which is counted until leave. It waits while the session is being
// attached, and has it attached if it is to no server.
func (n *session) enter(ctx context.Context) (*wire.Conn, int64, error) {
	for {
		n.mu.Lock()
		conn, number, gate, over := n.conn, n.number, n.gate, n.over
		if !over && gate == nil && alive(conn) {
			n.busy++
			n.used = true
			n.mu.Unlock()
			return conn, number, nil
		}
		n.mu.Unlock()
		switch {
		case over:
			return nil, 0, errOver
		case gate != nil:
			select {
			case <-gate:
			case <-ctx.Done():
				return nil, 0, wire.ErrUnsent
			}
		default:
			if err := n.attach(ctx, func() bool { return alive(n.conn) }); err != nil {
				return nil, 0, notSent(err)
			}
		}
	}
}

// serves reports that the session can be used though it could not be attached anew, and counts for a while yet.
func (n *session) serves() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.over && alive(n.conn) && n.store.host.Clock.Now()-n.since < n.store.lease/2
}

func alive(c *wire.Conn) bool { return c != nil && c.Why() == nil }

func (n *session) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy--; n.busy == 0 && n.idle != nil {
		close(n.idle)
		n.idle = nil
	}
}

// do sends requests together, by the connection with the number that it returns. The replies that came are there with
// an error, too. If a server says that the session is over, or attached elsewhere, that is the error.
func (n *session) do(ctx context.Context, reqs ...wire.Request) (replies []wire.Reply, on int64, err error) {
	conn, on, err := n.enter(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer n.leave()
	timer := n.drops(conn)
	if replies, err = conn.Do(ctx, reqs...); err == nil {
		timer.Stop()
	}
	for _, r := range replies {
		switch r.Err {
		case wire.SessionExpired:
			n.end()
			return replies, on, errOver
		case wire.SessionMoved:
			conn.Drop()
			return replies, on, r.Err
		}
	}
	return replies, on, err
}

// drops has a connection dropped on which nothing is heard for half of the time that a request may take: a balancer may
// have forgotten it, or the server may stand still. Then there is time for another one, to another server. That of a
// request with less time is dropped after that has ended, for those who come later: sooner, silence says nothing.
func (n *session) drops(conn *wire.Conn) *time.Timer {
	sent := time.Now()
	return time.AfterFunc(n.store.host.Limit/2, func() {
		if conn.Heard().Before(sent) {
			conn.Drop()
		}
	})
}

// ask is do for requests that may be sent twice, and are if the connection is lost while there is time. It tells
// observers.
func (n *session) ask(ctx context.Context, name string, reqs ...wire.Request) (replies []wire.Reply, err error) {
	var first error
	for range 2 {
		began := n.store.host.Clock.Now()
		replies, _, err = n.do(ctx, reqs...)
		n.store.command(name, len(reqs), began, err)
		err = behind(first, err)
		if !repeats(ctx, err) {
			break
		}
		first = err
	}
	return replies, meaning(err)
}

// behind is the error of a request that was sent again, or was to be, because it had no answer at first. If the second
// one was not even sent, the first may have been carried out all the same.
func behind(first, err error) error {
	if first != nil && !errors.Is(err, errOver) && store.FaultOf(meaning(err)) == store.FaultTransient {
		return first
	}
	return err
}

// repeats reports that a request has no answer, and that there is time to send it again.
func repeats(ctx context.Context, err error) bool {
	return ctx.Err() == nil && store.FaultOf(meaning(err)) == store.FaultAmbiguous
}

// end notes that a server has said that the session is over. Its holds are told by a goroutine of their own, since the
// caller may have a mutex.
func (n *session) end() {
	n.mu.Lock()
	n.over = true
	conn := n.conn
	n.mu.Unlock()
	if conn != nil {
		conn.Drop()
	}
	n.store.runs.run(n.tell)
}

// tell ends all holds of a session that is over, before the client does anything under another one. When it returns, no
// caller thinks any more that it holds: nothing would be renewed, and others may have the lock already.
//
// An acquisition may have been answered that the engine has not listed yet. So all is asked for once more, a moment
// later.
func (n *session) tell() {
	n.told.Do(func() {
		n.mu.Lock()
		var all []owner
		for _, p := range n.places {
			if p.hold != noHold {
				all = append(all, owner{p.name, p.id})
			}
		}
		n.mu.Unlock()
		for _, one := range all {
			n.store.host.Gone(one.name, one.id, errOver)
		}
		n.store.hub.wakeAll(n)
		n.store.sessions.forget(n)
		if len(all) > 0 {
			n.store.soon(n.store.host.Missed)
		}
	})
}

// sessions are those of a client: usually one.
type sessions struct {
	making chan struct{} // has room for the caller that makes one

	mu   sync.Mutex // guards list
	list []*session // those that are over stay until that is told
}

func (s *sessions) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*session(nil), s.list...)
}

func (s *sessions) add(n *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, n)
}

func (s *sessions) forget(n *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.list {
		if one == n {
			s.list = append(s.list[:i:i], s.list[i+1:]...)
			return
		}
	}
}

// room returns the place of an id, in a session that was attached in the last third of a lease: in the one in which the
// id is, or in one that has room for it, or in a new one.
func (s *Store) room(ctx context.Context, l *Lock, id string) (*session, *place, error) {
	for range 2 { // a session may be found to be over
		n, p, err := s.claim(ctx, l, id)
		if err != nil {
			return nil, nil, notSent(meaning(err))
		}
		err = n.attach(ctx, func() bool { return alive(n.conn) && s.host.Clock.Now()-n.since < s.lease/3 })
		if err == nil || n.serves() {
			return n, p, nil
		}
		n.dismiss(p)
		if _, ok := n.valid(); ok {
			return nil, nil, notSent(meaning(err))
		}
	}
	return nil, nil, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errOver}
}

func (s *Store) claim(ctx context.Context, l *Lock, id string) (*session, *place, error) {
	if n, p := s.find(l, id); p != nil {
		return n, p, nil
	}
	for _, n := range s.sessions.all() { // what ended with one that is over is told first
		if _, ok := n.valid(); !ok {
			n.tell()
		}
	}
	if n, p := s.claimLive(l, id); p != nil {
		return n, p, nil
	}
	select {
	case s.sessions.making <- struct{}{}:
		defer func() { <-s.sessions.making }()
	case <-ctx.Done():
		return nil, nil, wire.ErrUnsent
	}
	if n, p := s.claimLive(l, id); p != nil {
		return n, p, nil
	}
	n, err := s.makeSession(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := n.claim(l, id)
	if p == nil {
		return nil, nil, errOver
	}
	return n, p, nil
}

// claimLive looks for room in the sessions that there are.
func (s *Store) claimLive(l *Lock, id string) (*session, *place) {
	for _, n := range s.sessions.all() {
		if p := n.claim(l, id); p != nil {
			return n, p
		}
	}
	return nil, nil
}

// makeSession makes a session. If the answer is lost, the session that may have been made ends by itself, and with
// nothing.
func (s *Store) makeSession(ctx context.Context) (*session, error) {
	n := &session{
		store: s, attaching: make(chan struct{}, 1), places: make(map[string]*place), server: s.firstServer(),
		wire: wire.Session{Timeout: s.lease},
	}
	if err := n.attach(ctx, func() bool { return false }); err != nil {
		return nil, err
	}
	s.sessions.add(n)
	return n, nil
}

// counts is since when a hold counts that was asked for at an instant, for a lease of its own, under a session that
// counts since another. The node stands for as long as the session does, so a shorter lease counts from the asking, and
// never so that it is valid for longer than the session's would be.
func (s *Store) counts(since, asked, lease time.Duration) time.Duration {
	latest := grants.ValidUntil(since, s.lease) - grants.ValidUntil(0, lease)
	return max(since, min(asked, latest))
}

// close ends the session, and with it what could not be released.
func (n *session) close(ctx context.Context) {
	n.mu.Lock()
	conn, over, what, server := n.conn, n.over, n.wire, n.server
	n.over = true
	if n.timer != nil {
		n.timer.Stop()
	}
	n.mu.Unlock()
	switch { // without an answer it ends by itself
	case over:
	case alive(conn):
		_, _ = conn.Do(ctx, wire.CloseSession())
	default:
		_ = n.store.cfg.Dialer.End(ctx, n.store.cfg.Servers[server], what)
	}
	if conn != nil {
		conn.Drop()
	}
}
