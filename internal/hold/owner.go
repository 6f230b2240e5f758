package hold

import (
	"context"
	"sync/atomic"
)

// Owner is the Lock call that has a hold, or several that it took as one, for those who are to tell when it has them no
// more. Most calls have no owner, because nobody wants to know.
//
// All levels of a call lead to its owner. Package hold says of whom a hold has ended, and may name an owner twice: a
// hold can be lost while its last level is on the way out. So the goroutine that tells asks ReportsEnd first.
type Owner struct {
	// Of is what the owner is a part of. Constant.
	Of any

	over atomic.Bool
}

// ReportsEnd reports once that the caller is the one who reports the end.
func (o *Owner) ReportsEnd() bool { return o != nil && o.over.CompareAndSwap(false, true) }

// Owner is the call that the level belongs to; nil if nobody is to be told of its end. It may be asked without a mutex,
// also after the level has ended.
func (l *Level) Owner() *Owner {
	if a := l.apart.Load(); a != nil {
		return a.owner
	}
	return nil
}

// In reports that ctx carries the level, and none inside it. So ctx can take the place of the level's own context
// without anybody losing a hold by it.
func (l *Level) In(ctx context.Context) bool {
	in, _ := ctx.Value(levelKey{}).(*Level)
	return in == l
}

// ownersLocked appends those whose hold has ended with the level: that of its call, and that of all that the level is
// tied to.
func (l *Level) ownersLocked(owners []*Owner) []*Owner {
	a := l.apart.Load()
	if a == nil {
		return owners
	}
	if a.owner != nil {
		owners = append(owners, a.owner)
	}
	if tied := a.tied.Load(); tied != nil && tied.Owner != nil {
		owners = append(owners, tied.Owner)
	}
	return owners
}

// ownersLocked appends all whose Hold has ended with the levels, those under way included.
func (h *Hold) ownersLocked(owners []*Owner) []*Owner {
	for l := h.top; l != nil; l = l.below {
		owners = l.ownersLocked(owners)
	}
	return owners
}
