package zkstore

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// place is what a session knows of one id that wants a lock, or has it: where its node is. Its prefix is that of the
// node without the number that a server appends.
type place struct {
	name, id, prefix string

	// The session's mutex guards what follows.
	path   string // of the node; "": there is none, or it is not known
	czxid  int64  // the change that made it; 0: not known
	asking int    // requests under way that make it
	doubt  bool   // one had no answer, on the present connection: the node may be there, or be made yet
	hold   hold
	since  time.Duration // it has held the lock
}

// hold is whether an id holds the lock, and how it hears that its node was deleted.
type hold int

const (
	noHold      hold = iota
	unwatched        // when the session is attached next
	watchedHold      // at once: the present connection watches the node
)

// goneLocked notes that the node is gone.
func (p *place) goneLocked() { p.path, p.czxid, p.hold = "", 0, noHold }

// mostPaths is how many bytes of paths hang on one session. The servers close a session by one change that names all of
// them. They cannot take a change that is larger than jute.maxbuffer, of a megabyte, nor go on without it: 2.3 MB end
// an ensemble for good (ZOOKEEPER-4306). Beyond that a client has another session.
const mostPaths = 256 << 10

// costs is how many bytes the path of a node has at most, with its length.
func costs(prefix string) int { return len(prefix) + digits + 1 + 4 }

// prefixLocked is the path of the node of an id below a lock's, without its number. The session is in it, so that no
// node of an earlier session is taken for this one's.
func (n *session) prefixLocked(l *Lock, id string) string {
	return fmt.Sprintf("%s/%s.%x%s", l.path, id, uint64(n.wire.ID), mark)
}

// find returns the place of an id, if it has one in one of the sessions.
func (s *Store) find(l *Lock, id string) (*session, *place) {
	for _, n := range s.sessions.all() {
		if p := n.placeOf(l, id); p != nil {
			return n, p
		}
	}
	return nil, nil
}

func (n *session) placeOf(l *Lock, id string) *place {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		return nil
	}
	return n.places[n.prefixLocked(l, id)]
}

// claim gives an id a place, if the session is not over and has room for it.
func (n *session) claim(l *Lock, id string) *place {
	n.mu.Lock()
	defer n.mu.Unlock()
	prefix := n.prefixLocked(l, id)
	if p := n.places[prefix]; p != nil && !n.over {
		return p
	}
	if n.over || n.bytes+costs(prefix) > mostPaths {
		return nil
	}
	p := &place{name: l.name, id: id, prefix: prefix}
	n.places[prefix] = p
	n.bytes += costs(prefix)
	return p
}

// freeLocked forgets a place of which nothing is there, or can come.
func (n *session) freeLocked(p *place) {
	if n.places[p.prefix] == p && p.path == "" && !p.doubt && p.asking == 0 {
		delete(n.places, p.prefix)
		n.bytes -= costs(p.prefix)
	}
}

// free notes that the node of an id is gone, if it had one.
func (n *session) free(p *place, path string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.path == path {
		p.goneLocked()
	}
	n.freeLocked(p)
}

// begins counts a request that makes the node.
func (n *session) begins(p *place) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.places[p.prefix] == nil { // it was released since, and forgotten
		n.places[p.prefix] = p
		n.bytes += costs(p.prefix)
	}
	p.asking++
}

// landed notes how such a request ended that was sent on a connection: with the path of the node, with an error after
// which there is none, or without an answer. Then the node may come for as long as that connection is the present one:
// with the next one the session was looked through.
func (n *session) landed(p *place, on int64, path string, czxid int64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.asking--
	switch {
	case path != "":
		p.path, p.czxid = path, czxid
	case store.FaultOf(err) == store.FaultAmbiguous && on >= n.number:
		p.doubt = true
	}
}

// known is the path of the node of a place, and whether it may be there, or come, though it is not known.
func (n *session) known(p *place) (path string, czxid int64, doubt bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return p.path, p.czxid, p.doubt || p.path == "" && p.asking > 0
}

// holds notes that an id has the lock since an instant. It reports false if the session is over, or the node gone, of
// which everybody has been told already.
func (n *session) holds(p *place, path string, czxid int64, now time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over || p.path != path {
		return false
	}
	if p.hold == noHold {
		p.hold, p.since = unwatched, now
	}
	p.czxid = czxid
	return true
}

// unholds notes that an id is about to be released.
func (n *session) unholds(p *place) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.hold = noHold
}

// stands reports that the node of an id was there when the session was looked through last, or was made since.
func (n *session) stands(p *place) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.over && n.places[p.prefix] == p && p.path != ""
}

// owner is the name and the id of a hold.
type owner struct{ name, id string }

// settleLocked has the places agree with the paths of the nodes that the session has, while no request for one is under
// way. It returns the holds that are gone, and the paths that are nobody's.
func (n *session) settleLocked(paths []string) (gone []owner, strange []string) {
	there := make(map[*place]bool, len(paths))
	for _, path := range paths {
		p := n.places[prefixOf(path)]
		if p == nil || p.path != "" && p.path != path || there[p] {
			strange = append(strange, path)
			continue
		}
		there[p], p.path, p.doubt = true, path, false
	}
	for _, p := range n.places {
		if p.hold == watchedHold { // by the connection before
			p.hold = unwatched
		}
		if there[p] {
			continue
		}
		if p.hold != noHold {
			gone = append(gone, owner{p.name, p.id})
		}
		p.doubt = false
		p.goneLocked()
	}
	return gone, strange
}
