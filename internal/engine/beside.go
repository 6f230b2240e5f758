package engine

import (
	"cmp"
	"errors"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
)

// exportBeside exports a reader's part of a grant that other readers of this process have, too. The grant itself stays,
// with its id, because those readers rely on it. So Redis makes another grant beside it, in the step in which it looks
// whether the old one stands: no writer can have been in between. A writer that waits at the gate does not keep a
// present reader out. For example, readers A and B share the grant c:7, and A is exported: Redis keeps c:7 for B, and
// has c:8, under which nobody reads until it is imported. To refuse would be plainer, but whether others joined is
// nothing that the caller knows or can change.
//
// The request is an adoption by which the old hold stays. If its answer is lost for good, the new id is disowned
// and the caller has neither: its own level has ended, and the others' grant is untouched.
//
// The level is one under way until then: it has no context and is not re-entered, but the grant is not released
// without it.
func (e *Engine) exportBeside(l *hold.Level) (_ Passage, err error) {
	g := grantOf(l.Hold())
	passage := e.newPassage(g, l.Hold())
	id := passage.id()
	owned := last(l.Owner()) // so that its unlock tells nothing
	defer func() { owned.ended(cmp.Or(err, e.cfg.Errors.Exported)) }()
	l.End(e.cfg.Errors.Released)
	req := Request{Proto: g.proto, Lease: max(e.cfg.Lease, g.Longest())}
	unsure, err := e.adopt(background, crash.Export, req, g.id, store.Ask{ID: id, Lease: req.Lease, Beside: true})
	if err != nil {
		if errors.Is(err, e.cfg.Errors.NotHeld) {
			g.lose(hold.Gone, nil)
		}
		return Passage{}, cmp.Or(Unlock(l), err)
	}
	e.outlast(g.proto, unsure.Late())
	if err := Unlock(l); err != nil {
		e.disown(req, id, unsure.Late(), 0)
		return Passage{}, err
	}
	return passage, nil
}
