package engine

import (
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/lua"
)

// A client of one address may be before a server that wants the keys of a script in one slot all the same: a
// cluster of one node, or a proxy before one of many. It shows when a script of several locks is refused, as it
// may from any moment on. Then they are served one by one, and from then on slot by slot. Nothing that was refused
// ran, so nothing is in doubt that was not before.

// BySlot reports whether a script can serve the keys of one slot only, as far as is known.
func (e *Engine) BySlot() bool { return e.cfg.Links.Cluster() || e.bySlot.Load() }

// learnSlots notes what a refusal says about slots.
func (e *Engine) learnSlots(err error) {
	if lua.Crossed(err) {
		e.bySlot.Store(true)
	}
}

// refusesMany reports that what was refused as one script may be carried out as several. A slot that is being
// moved answers scripts of several keys with TRYAGAIN for as long as it lasts; scripts of one key work all the
// time. Proxies have words of their own, and one lock may be forbidden where others are not. Scripts that find
// their own ways answer for their parts themselves.
func (e *Engine) refusesMany(err error) bool {
	return e.cfg.Links.Traffic != nil && (redis.IsTryAgainError(err) || lua.Refused(err))
}

// partsBy is refusesMany for what takes several locks. If it is forbidden, some may have been taken already.
func (e *Engine) partsBy(err error) bool {
	e.learnSlots(err)
	return e.refusesMany(err) && !denied(err)
}

// parted reports that one script for all is known to be refused, where that had to be learned.
func parted[T any](e *Engine, all []T, proto func(T) Protocol) bool {
	return e.bySlot.Load() && slices.ContainsFunc(all, func(one T) bool {
		return !keys.SameSlot(proto(all[0]).Key(), proto(one).Key())
	})
}
