package zkstore

import "github.com/holdfast-go/holdfast/zklock/internal/wire"

// turn reports that a waiter is the first, and with which base of tokens, without asking anybody: the one before its
// node was the first, and was deleted, and the base is known of the same connection.
//
// Nobody comes before a node that is there, since numbers only grow. A connection is told of changes in their order: if
// the waiter's own node had been deleted before, or the base raised, the connection would have told that before. So
// this is what a look at that change would have found. As behind a look, the hold rests on the session, which counts
// from when it was attached.
func (l *Lock) turn(n *session, p *place, at *standing) bool {
	base := n.watchedBase()
	if at.czxid == 0 || !base.known || !l.store.hub.isFirst(base.on, l.name, p.id, at.path) {
		return false
	}
	at.base = base.reply
	return true
}

// watchedBase is the base of tokens as a connection was told of it, which watches it since.
type watchedBase struct {
	on      int64 // the connection
	changes int   // how often it was told that the base has changed
	known   bool  // it was read, and has not changed since
	reply   wire.Reply
}

// watchedBase is what is known of the base on the present connection.
func (n *session) watchedBase() watchedBase {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.base
}

// watchesBase notes what was read of the base, and is watched since, if nothing has changed since something was known:
// an event may be told before the reader of the answer comes here.
func (n *session) watchesBase(since watchedBase, r wire.Reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Err == nil && n.base.on == since.on && n.base.changes == since.changes {
		n.base.known, n.base.reply = true, r
	}
}

// baseChanged notes that a connection was told of a change of the base.
func (n *session) baseChanged(on int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.base.on == on {
		n.base = watchedBase{on: on, changes: n.base.changes + 1}
	}
}
