package zkstore

import (
	"context"
	"errors"
	"path"
	"sync"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// tries are the names of which a try was in vain, as far as is remembered, with the path of the node that was in the
// way. The next one reads before it makes a node, so that who asks again and again writes nothing.
type tries struct {
	mu   sync.Mutex // guards what follows
	vain map[string]string
}

const mostTries = 1 << 10

// last is the path of the node that was in the way of the last try; "": none was.
func (t *tries) last(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.vain[name]
}

// note notes which node is in the way of a try; "": none is.
func (t *tries) note(name, other string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case other == "":
		delete(t.vain, name)
		return
	case t.vain == nil, len(t.vain) >= mostTries:
		t.vain = make(map[string]string)
	}
	t.vain[name] = other
}

// taken reports that somebody stands at a name of which the last try was in vain. That the same node is in the way as
// then takes one request, as a rule.
func (l *Lock) taken(ctx context.Context, n *session, last string) (bool, error) {
	replies, err := n.ask(ctx, "poll", wire.Children(l.path), wire.Exists(last, false))
	if err != nil {
		return false, err
	}
	names, _, err := replies[0].Children()
	q := queueOf(names, "")
	switch {
	case errors.Is(err, wire.NoNode), err == nil && q.first == "":
		l.store.tries.note(l.name, "")
		return false, nil
	case err != nil:
		return false, meaning(err)
	}
	look := replies[1]
	if q.first != path.Base(last) {
		last = join(l.path, q.first)
		if replies, err = n.ask(ctx, "poll", wire.Exists(last, false)); err != nil {
			return false, err
		}
		look = replies[0]
	}
	l.store.tries.note(l.name, last)
	return true, l.inTheWay(last, look)
}

// inTheWay is the error of what was read of a node that is in the way: nil if it is a contender's, or gone.
func (l *Lock) inTheWay(other string, look wire.Reply) error {
	stat, err := look.Stat()
	if err != nil {
		return meaning(ignore(err, wire.NoNode))
	}
	return l.conflict(other, stat)
}

// stepBack deletes the node of a try that is not the first, and looks at the one before it.
func (l *Lock) stepBack(ctx context.Context, n *session, p *place, at standing) (reply store.AcquireReply, err error) {
	l.store.tries.note(l.name, at.before)
	replies, err := n.ask(ctx, "release", wire.Exists(at.before, false), wire.Delete(at.path))
	if err != nil {
		return reply, err
	}
	if err = meaning(ignore(replies[1].Err, wire.NoNode)); err != nil {
		return reply, err
	}
	n.free(p, at.path)
	if err = l.inTheWay(at.before, replies[0]); store.FaultOf(err) == store.FaultConflict {
		return reply, err
	}
	return l.busy(), nil
}
