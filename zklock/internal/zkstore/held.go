package zkstore

import (
	"context"

	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// mostWatched is how many bytes of paths are watched by one request. A server ends the connection of a request that is
// larger than its jute.maxbuffer.
const mostWatched = 16 << 10

// watchSoon has the nodes of holds watched that are a moment old by then, so a holder is told at once that its node was
// deleted, by an operator or by Break. Most holds last for milliseconds, and cost no request for that. Since a watch is
// that of a connection, the nodes of all older holds are watched anew each time the session is attached.
func (s *Store) watchSoon() {
	if s.watching.CompareAndSwap(false, true) {
		s.soon(s.watchHolds)
	}
}

func (s *Store) watchHolds() {
	s.watching.Store(false)
	young := false
	for _, n := range s.sessions.all() {
		young = n.watchHolds() || young
	}
	if young {
		s.watchSoon()
	}
}

// watchHolds has the nodes of holds watched that are not young, and reports whether some are. A node that was deleted
// meanwhile is told as if it had been watched. What cannot be watched now is when the session is attached next.
func (n *session) watchHolds() (young bool) {
	paths, young := n.unwatched()
	if len(paths) == 0 {
		return young
	}
	ctx, cancel, err := n.store.begin(context.Background())
	if err != nil {
		return young
	}
	defer cancel()
	var reqs []wire.Request
	for len(paths) > 0 {
		some, bytes := 0, 0
		for some < len(paths) && bytes < mostWatched {
			bytes += len(paths[some])
			some++
		}
		reqs, paths = append(reqs, wire.Watch(paths[:some])), paths[some:]
	}
	_, _ = n.ask(ctx, "watch", reqs...)
	return young
}

// unwatched are the paths of nodes that are to be watched now. That is noted before the server is asked, so that
// nothing that it tells is missed. It reports whether there are holds that are too young.
func (n *session) unwatched() (paths []string, young bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.store.host.Clock.Now() - moment
	for _, p := range n.places {
		switch {
		case p.hold != unwatched || n.over:
		case p.since > old:
			young = true
		default:
			p.hold = watchedHold
			paths = append(paths, p.path)
		}
	}
	return paths, young
}

// fired is told by a connection that a node has changed that was watched, or was deleted. It does not wait: a goroutine
// tells the end of a hold.
func (n *session) fired(on int64, path string, deleted bool) {
	if path == n.store.basePath() {
		n.baseChanged(on)
	}
	n.store.hub.fired(on, path, deleted)
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.places[prefixOf(path)]
	if !deleted || p == nil || p.path != path || p.hold != watchedHold {
		return
	}
	p.goneLocked()
	n.freeLocked(p)
	n.store.runs.run(func() { n.store.host.Gone(p.name, p.id, nil) })
}
