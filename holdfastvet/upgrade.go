package holdfastvet

import (
	"go/ast"
	"go/types"
)

// upgrades finds a write lock that is taken with a context that carries a read hold of the same lock: that is refused,
// unless the context carries a write hold as well.
func (f *flow) upgrades(n ast.Node, s state) {
	if !s.inside() || !s.ctx {
		return
	}
	for call := range calls(n) {
		method := f.locks(call)
		if method == "" || !f.carries(call.Args[0]) {
			continue
		}
		lock, side := f.sideOf(receiver(call))
		if side == "Write" && f.readsAround(lock) && !f.writesAround(lock) {
			f.report(call.Pos(), "this %s fails with ErrUpgrade, unless a caller holds the write side: %s carries a "+
				"read hold of the same lock", method, types.ExprString(call.Args[0]))
		}
	}
}

// readsAround reports that the hold is one of a lock's read side, or that its context is made from that of one.
func (f *flow) readsAround(lock ast.Expr) bool {
	for h := f.hold; h != nil; h = f.around(h) {
		if outer, side := f.sideOf(receiver(h.call)); side == "Read" && f.ofOneLock(lock, outer) {
			return true
		}
	}
	return false
}

// around is the hold of a Do whose context another hold was taken with; nil: there is none.
func (c *check) around(inner *hold) *hold {
	for _, h := range c.holds {
		outer := &flow{check: c, hold: h}
		if h.stmt == nil && h.ctx.obj != nil && within(inner.call.Pos(), h.fn) && outer.carries(inner.call.Args[0]) {
			return h
		}
	}
	return nil
}

// sideOf is the read-write lock that a handle is one side of, and which side; nil: it is of none, or nobody knows.
func (c *check) sideOf(handle ast.Expr) (lock ast.Expr, side string) {
	if handle == nil {
		return nil, ""
	}
	if v := c.value(handle); v != nil {
		return c.sideOf(v)
	}
	call, ok := ast.Unparen(handle).(*ast.CallExpr)
	if !ok || len(call.Args) > 0 || !ours(c.callee(call)) {
		return nil, ""
	}
	if side = nameOf(call); side != "Read" && side != "Write" {
		return nil, ""
	}
	return receiver(call), side
}

// ofOneLock reports that two expressions are the same read-write lock.
func (c *check) ofOneLock(x, y ast.Expr) bool {
	a, _ := c.handle(x)
	b, _ := c.handle(y)
	return a != nil && b != nil && c.oneLock(a, b) || c.equal(x, y)
}

// writesAround reports that the code around a read hold takes the write side of the lock, in which the caller may still
// be.
func (f *flow) writesAround(lock ast.Expr) bool {
	for _, h := range f.holds {
		outer, side := f.sideOf(receiver(h.call))
		if side == "Write" && within(f.call.Pos(), h.fn) && h.call.Pos() < f.call.Pos() && f.ofOneLock(lock, outer) {
			return true
		}
	}
	return false
}
