package zkstore

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// attach attaches the session anew, unless that is not needed any more when it is this caller's turn. Enough says so;
// it is called with the session's mutex.
//
// That is how a session is renewed. The handshake has the leader give the session its full time; a change that is
// agreed on over the same connection then shows that this leader still led, because servers drop all connections when
// their leader changes, and the next one gives every session its full time. So the session lasts for that long from the
// sending of the handshake. A change alone would not do: a follower passes it on, and the leader only looks whether the
// session is there. Clients whose session had 0.1 of its time left, and which counted from a change that a follower had
// answered, were two holders in 8 of 8 runs in which that follower died.
//
// When that change is answered, no request of an earlier connection is carried out any more, but for one that its own
// server had begun to pass on as the session was attached to the same server again. What the session has then is read,
// and decides which holds stand and which nodes are nobody's. These are deleted: if one comes through that gap, or by a
// handshake that was given up, it stands until the session is attached again, a third of a lease later.
func (n *session) attach(ctx context.Context, enough func() bool) error {
	n.mu.Lock()
	done := !n.over && n.gate == nil && enough()
	n.mu.Unlock()
	if done {
		return nil
	}
	select {
	case n.attaching <- struct{}{}:
	case <-ctx.Done():
		return wire.ErrUnsent
	}
	n.mu.Lock()
	over, done, spent := n.over, enough(), n.spentLocked()
	n.mu.Unlock()
	if over || done || spent {
		<-n.attaching
		switch {
		case over:
			return errOver
		case spent:
			n.giveUp()
			return errSpent
		}
		return nil
	}
	began := n.store.host.Clock.Now()
	n.shut(ctx)
	found, err := n.anywhere(ctx)
	if err == nil {
		n.swap(found)
	} else if errors.Is(err, wire.ErrOver) {
		err = errOver
		n.end()
	}
	n.open()
	<-n.attaching
	if shortened(err) {
		n.giveUp()
	}
	n.store.command("renew", 1, began, err)
	if err == nil {
		n.follow(found)
	}
	return err
}

// shortened reports that the session has less time by now than those rely on who hold something: no other server has
// given it all of it again.
func shortened(err error) bool {
	var unfit *ServerError
	return errors.As(err, &unfit) && unfit.shorter
}

// grace is how long requests that are under way may keep the session from being attached: most of their answers would
// be lost with the connection.
func (s *Store) grace() time.Duration { return s.host.Limit / 8 }

// shut has requests wait, and waits for those that are under way.
func (n *session) shut(ctx context.Context) {
	n.mu.Lock()
	n.gate = make(chan struct{})
	var idle chan struct{}
	if n.busy > 0 && alive(n.conn) {
		idle = make(chan struct{})
		n.idle = idle
	}
	n.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(n.store.grace())
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (n *session) open() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.gate)
	n.gate, n.idle = nil, nil
}

// swap has a connection be the session's, and drops the one before. Its server has closed that by now, if it is the
// same one, so that its log has one line and not two.
func (n *session) swap(f *found) {
	n.mu.Lock()
	old := n.conn
	n.wire, n.conn, n.server, n.since, n.used = f.conn.Session, f.conn, f.server, f.since, false
	n.number, n.base = f.number, watchedBase{on: f.number}
	f.gone, f.strange = n.settleLocked(f.paths)
	n.mu.Unlock()
	if old != nil {
		old.Drop()
	}
	n.store.runs.run(func() { n.minds(f.conn) })
}

// minds has the session attached again when its connection is lost: what was watched on it is not any more, and it may
// be lost because the session has ended, of which holders are to be told.
func (n *session) minds(conn *wire.Conn) {
	select {
	case <-conn.Lost():
	case <-n.store.life.Done():
		return
	}
	n.mu.Lock()
	present := n.conn == conn
	n.mu.Unlock()
	if present {
		n.due()
	}
}

// follow does what follows from what the session was found to have, once requests may go on.
func (n *session) follow(f *found) {
	s := n.store
	for _, one := range f.gone {
		s.host.Gone(one.name, one.id, nil)
	}
	if len(f.gone) > 0 { // one may have been answered that the engine has not listed yet
		s.soon(s.host.Missed)
	}
	s.hub.wakeAll(n) // what was watched on the connection before is not any more
	s.runs.run(func() { n.watchHolds() })
	s.saw(f)
	n.again()
	if len(f.strange) > 0 {
		s.runs.run(func() { n.sweep(f.strange) })
	}
}
