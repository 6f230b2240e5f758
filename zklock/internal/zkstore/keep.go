package zkstore

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// fresh is how old a handshake may be that serves a renewal: it takes that much of the validity.
func (s *Store) fresh() time.Duration { return s.lease / 12 }

// proven says that a session was attached a moment ago. It is called with the session's mutex.
func (s *Store) proven(n *session) bool {
	return alive(n.conn) && s.host.Clock.Now()-n.since <= s.fresh()
}

// again has the session attached again when that is due, if nothing else has it attached: no hold is renewed while
// callers only wait. A client that has and wants nothing lets its session end.
func (n *session) again() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		return
	}
	if n.timer != nil {
		n.timer.Stop()
	}
	n.timer = time.AfterFunc(n.store.lease*5/12, func() { n.store.runs.run(n.due) })
}

func (n *session) due() {
	n.mu.Lock()
	wanted := n.used || len(n.places) > 0
	n.mu.Unlock()
	if !wanted {
		return
	}
	ctx, cancel, err := n.store.begin(context.Background())
	if err != nil {
		return
	}
	defer cancel()
	if err := n.attach(ctx, func() bool { return n.store.proven(n) }); err != nil && !errors.Is(err, errOver) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.over {
			n.timer.Reset(n.store.fresh())
		}
	}
}

// spentLocked reports that nothing has proven the session for as long as it lasts. All that was held under it is over,
// by the client's clock, though the servers may keep it: they do while handshakes arrive, even if no answer does.
func (n *session) spentLocked() bool {
	return n.wire.ID != 0 && n.store.host.Clock.Now()-n.since >= n.store.lease
}

// giveUp has the client go on under another session than one that is spent, which it ends, so that what hangs on it is
// in nobody's way: until a server says that it is over, or it must be.
func (n *session) giveUp() {
	n.end()
	s := n.store
	n.mu.Lock()
	spent, at := n.wire, n.server
	n.mu.Unlock()
	s.runs.run(func() {
		for end := s.host.Clock.Now() + s.lease; s.host.Clock.Now() < end; at++ {
			ctx, cancel, err := s.begin(context.Background())
			if err != nil {
				return
			}
			err = s.cfg.Dialer.End(ctx, s.cfg.Servers[at%len(s.cfg.Servers)], spent)
			cancel()
			if err == nil {
				return
			}
			select {
			case <-time.After(s.fresh()):
			case <-s.life.Done():
			}
		}
	})
}

// sweep deletes nodes of the session that are nobody's. One that is not deleted now is found again when the session is
// attached next.
func (n *session) sweep(strange []string) {
	ctx, cancel, err := n.store.begin(context.Background())
	if err != nil {
		return
	}
	defer cancel()
	for len(strange) > 0 {
		some := strange[:min(len(strange), mostTogether)]
		strange = strange[len(some):]
		reqs := make([]wire.Request, len(some))
		for i, path := range some {
			reqs[i] = wire.Delete(path)
		}
		replies, err := n.ask(ctx, "release", reqs...)
		if err != nil {
			return
		}
		for i, r := range replies {
			if r.Err == nil {
				n.store.host.Warn("deleted a node of this client that it does not know: a request came late, or "+
					"ZooKeeper's data were restored", "path", some[i])
			}
		}
	}
}
