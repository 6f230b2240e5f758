package engine

import (
	"cmp"
	"context"

	"github.com/holdfast-go/holdfast/internal/hold"
)

// reenter adds one level to a hold that ctx carries. The hold keeps its lease, whatever the request says of one, and
// nothing is sent (see package hold).
func (h *Hold) reenter(ctx context.Context, from *hold.Level, req Request) (*hold.Level, error) {
	if err := h.standing(from); err != nil {
		return nil, err
	}
	l := h.Nest(ctx, from, req.MaxHold, h.proto.Traits().Counts)
	if l == nil { // it ended since
		return nil, cmp.Or(h.standing(from), h.notHeld())
	}
	h.keepFor(req.MinHold)
	return l, nil
}

// standing reports why a level that ctx carries cannot be entered again. It is asked first by everything that is done
// inside a hold. A process that stood still for longer than the lease may come here before its wheel has ended the
// contexts; so validity is compared with the clock, and a hold that is over is ended here and now.
func (h *Hold) standing(from *hold.Level) error {
	h.expireIfOver()
	err, releasing := h.Standing(from)
	if err == nil && releasing {
		return h.notHeld()
	}
	return err
}

// overCause is why the hold ended.
func (h *Hold) overCause() error {
	if cause := h.Cause(); cause != nil {
		return cause
	}
	return h.notHeld()
}
