package zkstore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// untilCountedAnew is how soon a waiter that has no place asks again. Nothing wakes it, and it makes a node each time.
const untilCountedAnew = 200 * time.Millisecond

// standsNowhere reports that a node's number does not say where it stands: so it neither has the lock, nor waits.
func standsNowhere(own string) bool {
	number, _ := numberOf(path.Base(own))
	return spent(number)
}

// countAnew is called for a node that stands nowhere, since as many were made below the lock's node as can be counted.
// It deletes that node and, if nobody else stands there, the lock's, which is made again with a count that begins anew.
// It reports whether that is so. Those who have a number from before have the lock until then, and a caller that comes
// meanwhile polls.
//
// A client that may not delete the lock's node leaves that to the servers, which delete it soon after its last child.
func (l *Lock) countAnew(ctx context.Context, n *session, p *place, at standing) (anew bool, err error) {
	replies, err := n.ask(ctx, "release", wire.Delete(at.path), wire.Delete(l.path), wire.Children(l.path))
	if err != nil {
		return false, err
	}
	if err = meaning(ignore(replies[0].Err, wire.NoNode)); err != nil {
		return false, err
	}
	n.free(p, at.path)
	deleted := replies[1].Err
	switch {
	case deleted == nil, errors.Is(deleted, wire.NoNode):
		return true, nil
	case !errors.Is(deleted, wire.NotEmpty) && !errors.Is(deleted, wire.NoAuth):
		return false, meaning(deleted)
	}
	names, _, err := replies[2].Children()
	switch {
	case errors.Is(err, wire.NoNode):
		return true, nil
	case err != nil:
		return false, meaning(err)
	case len(names) == 0: // they have left meanwhile
		return errors.Is(deleted, wire.NotEmpty), nil
	case queueOf(names, "").len == 0:
		return false, fmt.Errorf("%w: lock %q was taken 2^31 times, and its node cannot be made anew to count on, "+
			"since there are other nodes below it: delete them, or leave the locks below it alone for a minute",
			store.ErrConflict, l.name)
	}
	return false, nil
}
