package zkstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// standing is where a node stands among those of a name.
type standing struct {
	path   string // "": it was deleted
	czxid  int64  // 0: not known
	before string // the path of the one before it; "": it is the first, and has the lock
	second bool   // the one before it is the first
	base   wire.Reply
}

// Acquire implements [store.Protocol].
//
// A caller of a free lock makes its node, and reads who stands there and the base of tokens, by requests that are sent
// together. If it has to wait, it asks whether the node before its own is there, and its own, and has both watched.
// From then on it only reads. A try makes its node, too, and deletes it if it is not the first; where tries were in
// vain of late it reads before.
//
// The receipt counts from the handshake with which the session was attached last: the node stands for as long as the
// session does.
func (l *Lock) Acquire(
	ctx context.Context, ask *store.Ask,
) (reply store.AcquireReply, receipt store.Receipt, err error) {
	s := l.store
	sent, cancel, err := s.begin(s.Within(ctx, ask.Within))
	if err != nil {
		return reply, receipt, err
	}
	defer cancel()
	asked := s.host.Clock.Now()
	n, p, err := s.room(sent, l, ask.ID)
	if err != nil {
		return reply, receipt, err
	}
	reply, err = l.acquire(sent, n, p, ask)
	err = l.leftover(sent, n, p, err)
	n.dismiss(p)
	since, _ := n.valid()
	receipt = store.Receipt{Since: s.counts(since, asked, ask.Lease)}
	if store.FaultOf(err) == store.FaultAmbiguous {
		receipt.Late = copies
	}
	return reply, receipt, err
}

// acquire finds out where an id stands, again while that changes, and once more if there is no answer.
func (l *Lock) acquire(
	ctx context.Context, n *session, p *place, ask *store.Ask,
) (reply store.AcquireReply, err error) {
	unanswered := false
	for range 4 {
		var done bool
		reply, done, err = l.attempt(ctx, n, p, ask)
		switch {
		case done && err == nil:
			return reply, nil
		case err != nil && (unanswered || !repeats(ctx, err)):
			return reply, err
		}
		unanswered = err != nil
	}
	return reply, cmp.Or[error](err, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errChanged})
}

// attempt finds out where an id stands. It reports that it has to be called again where that has changed meanwhile.
func (l *Lock) attempt(
	ctx context.Context, n *session, p *place, ask *store.Ask,
) (reply store.AcquireReply, done bool, err error) {
	at, busy, err := l.stand(ctx, n, p, ask)
	switch {
	case err != nil:
		return reply, false, err
	case busy:
		return l.busy(), true, nil
	case at.path == "":
		return reply, false, nil
	case standsNowhere(at.path):
		anew, err := l.countAnew(ctx, n, p, at)
		reply = l.busy()
		reply.Poll = untilCountedAnew
		return reply, !anew, err
	case at.before == "":
		reply, err = l.grant(ctx, n, p, at)
		return reply, true, err
	case ask.Once:
		reply, err = l.stepBack(ctx, n, p, at)
		return reply, true, err
	}
	stands, err := l.waits(ctx, n, p, at)
	return l.busy(), stands, err
}

func (l *Lock) busy() store.AcquireReply {
	return store.AcquireReply{Status: store.Busy, PTTL: l.store.hub.rest(l.name)}
}

// stand returns where the node of an id stands, which is made if there is none. With busy there is none, and none was
// made.
func (l *Lock) stand(
	ctx context.Context, n *session, p *place, ask *store.Ask,
) (at standing, busy bool, err error) {
	own, czxid, doubt := n.known(p)
	last := ""
	if own == "" && ask.Once {
		last = l.store.tries.last(l.name)
	}
	if last != "" && !doubt {
		if busy, err = l.taken(ctx, n, last); busy || err != nil {
			return at, busy, err
		}
	}
	switch {
	case doubt: // attaching the session says whether there is one
		err = n.attach(ctx, func() bool { return !p.doubt })
		return at, false, meaning(err)
	case own == "":
		at, err = l.join(ctx, n, p)
	default:
		at, err = l.look(ctx, n, p, own, czxid)
	}
	return at, false, err
}

// join makes the node of an id, and reads where it stands. The lock's node is made first, if it is not there.
func (l *Lock) join(ctx context.Context, n *session, p *place) (at standing, err error) {
	s := l.store
	reqs := []wire.Request{
		wire.Stand(p.prefix, nil, s.cfg.ACL), wire.Children(l.path), wire.Get(s.basePath()),
	}
	at, names, err := l.make(ctx, n, p, reqs)
	if errors.Is(err, wire.NoNode) {
		at, names, err = l.make(ctx, n, p, append(s.parents(l), reqs...))
	}
	if err != nil || at.path == "" {
		return at, err
	}
	l.place(n, p, &at, names)
	return at, nil
}

// make sends the requests of which the third last makes the node, and the last two read.
func (l *Lock) make(
	ctx context.Context, n *session, p *place, reqs []wire.Request,
) (at standing, names []string, err error) {
	began := l.store.host.Clock.Now()
	n.begins(p)
	replies, on, err := n.do(ctx, reqs...)
	failed := meaning(err)
	first := len(reqs) - 3
	if len(replies) > first {
		var stat wire.Stat
		var refused error
		at.path, stat, refused = replies[first].Created()
		at.czxid = stat.Czxid
		if refused != nil {
			failed = meaning(refused)
		}
	}
	n.landed(p, on, at.path, at.czxid, failed)
	l.store.command("acquire", len(reqs), began, failed)
	switch {
	case failed != nil && first > 0 && errors.Is(failed, wire.NoNode):
		return at, nil, made(replies[:first])
	case failed != nil:
		return at, nil, failed
	}
	at.base = replies[first+2]
	names, _, err = replies[first+1].Children()
	return at, names, meaning(err)
}

// place finds where the node stands among the names that were read. It is forgotten if it is not among them.
func (l *Lock) place(n *session, p *place, at *standing, names []string) {
	q := queueOf(names, path.Base(at.path))
	switch {
	case !q.found:
		n.free(p, at.path)
		at.path = ""
	case q.before != "":
		at.before, at.second = join(l.path, q.before), q.before == q.first
	}
}

// look reads where a node stands. The node before that of a waiter is known, unless it is gone.
func (l *Lock) look(ctx context.Context, n *session, p *place, own string, czxid int64) (at standing, err error) {
	s := l.store
	at = standing{path: own, czxid: czxid}
	if at.before, at.second = s.hub.before(l.name, p.id); at.before != "" || l.turn(n, p, &at) {
		return at, nil
	}
	reqs := []wire.Request{wire.Children(l.path), wire.Get(s.basePath())}
	if czxid == 0 { // it was found as the session was attached
		reqs = append(reqs, wire.Exists(own, false))
	}
	replies, err := n.ask(ctx, "poll", reqs...)
	if err != nil {
		return at, err
	}
	names, _, err := replies[0].Children()
	if err != nil && !errors.Is(err, wire.NoNode) {
		return at, meaning(err)
	}
	if czxid == 0 {
		stat, _ := replies[2].Stat() // if it is gone it is not among the names, either
		at.czxid = stat.Czxid
	}
	at.base = replies[1]
	l.place(n, p, &at, names)
	return at, nil
}

// waits has the node of a waiter and the one before it watched. It reports whether both are there.
func (l *Lock) waits(ctx context.Context, n *session, p *place, at standing) (both bool, err error) {
	s := l.store
	base := n.watchedBase()
	s.hub.behind(n, base.on, l.name, p.id, at)
	reqs := []wire.Request{wire.Exists(at.path, true), wire.Exists(at.before, true)}
	asks := at.second && !base.known
	if asks {
		reqs = append(reqs, wire.GetWatched(s.basePath()))
	}
	replies, err := n.ask(ctx, "poll", reqs...)
	if err != nil {
		return false, err
	}
	if asks {
		n.watchesBase(base, replies[2])
	}
	_, err = replies[0].Stat()
	switch {
	case errors.Is(err, wire.NoNode):
		s.hub.leave(l.name, p.id)
		n.free(p, at.path)
		return false, nil
	case err != nil:
		return false, meaning(err)
	}
	other, err := replies[1].Stat()
	switch {
	case errors.Is(err, wire.NoNode):
		s.hub.passed(l.name, p.id)
		return false, nil
	case err != nil:
		return false, meaning(err)
	}
	return true, l.conflict(at.before, other)
}

// containerOwner is what servers say is the session of a container.
const containerOwner = -1 << 63

// conflict is the error of a node that stands in the way and is no lock's, and that nothing would ever free. It is nil
// if there is none.
func (l *Lock) conflict(other string, stat wire.Stat) error {
	if stat.Owner != 0 && stat.Owner != containerOwner {
		return nil
	}
	return fmt.Errorf("%w: %q is below lock %q and belongs to no session, so it is no lock's, or one that never ends",
		store.ErrConflict, other, l.name)
}

// ignore is an error unless it is one of a code.
func ignore(err error, code wire.Code) error {
	if errors.Is(err, code) {
		return nil
	}
	return err
}

// grant is the answer to the caller that is first.
func (l *Lock) grant(ctx context.Context, n *session, p *place, at standing) (reply store.AcquireReply, err error) {
	s := l.store
	base, err := s.based(ctx, at.base)
	token := fence(base, at.czxid)
	if err == nil && token == 0 {
		err = errGrown
	}
	if err != nil {
		return reply, err
	}
	s.hub.leave(l.name, p.id)
	if !n.holds(p, at.path, at.czxid, s.host.Clock.Now()) {
		return reply, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errChanged}
	}
	s.watchSoon()
	s.granted(token)
	return store.AcquireReply{Status: store.Held, Fence: token, Spare: tokensEach - 1}, nil
}

// leftover is what an error of an acquisition means whose node stands, or may come. Whatever the error says of its own
// request, only a release ends the node, since the session is renewed: so the acquisition is in doubt. Where no
// repetition helps the node is deleted at once, as it must not stand in the way of others.
func (l *Lock) leftover(ctx context.Context, n *session, p *place, why error) error {
	own, _, doubt := n.known(p)
	if _, lives := n.valid(); why == nil || !lives || own == "" && !doubt {
		return why
	}
	kind := store.FaultOf(why)
	if own != "" && (kind == store.FaultConflict || kind == store.FaultDefinite) {
		l.store.hub.leave(l.name, p.id)
		replies, err := n.ask(ctx, "release", wire.Delete(own))
		if err == nil && ignore(replies[0].Err, wire.NoNode) == nil {
			n.free(p, own)
			return why
		}
	}
	return &store.Failure{Fault: store.FaultAmbiguous, Answered: true, Err: why}
}

// dismiss forgets a place that was taken for nothing.
func (n *session) dismiss(p *place) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.freeLocked(p)
}

var errChanged = errors.New("who stands at the name changed again and again")
