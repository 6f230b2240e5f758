package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// allThrownAway finds a statement that takes a lock and keeps nothing of what that returns.
func (c *check) allThrownAway(stmt ast.Node) {
	var e ast.Expr
	switch n := stmt.(type) {
	case *ast.ExprStmt:
		e = n.X
	case *ast.GoStmt:
		e = n.Call
	case *ast.DeferStmt:
		e = n.Call
	}
	if call, method := c.takes(e); call != nil && !c.inTest(call) {
		c.report(call.Pos(), "all that %s returned is thrown away: nothing can unlock, or see whether it is held",
			method)
	}
}

// mayStay reports that a hold may be meant to end without an unlock: with its lease, which is fixed, or its MaxHold;
// with the client, which the same function closes; or with the process.
func (c *check) mayStay(h *hold) bool {
	if c.limits || h.stmt == nil {
		return true
	}
	if fn, ok := h.fn.Node.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "main" && c.Pkg.Name() == "main" {
		return true
	}
	return c.closes(h.fn.body, make(map[*types.Func]bool)) || h.unlock.obj != nil && c.heldBefore(h)
}

// closes reports that a body closes a client, or calls a function of the package that does. Seen are those that were
// looked at.
func (c *check) closes(body ast.Node, seen map[*types.Func]bool) bool {
	for call := range anywhere[*ast.CallExpr](body) {
		fn, ok := c.callee(call).(*types.Func)
		if !ok || seen[fn] {
			continue
		}
		seen[fn] = true
		if fn.Name() == "Close" && ours(fn) {
			return true
		}
		if inner := c.bodies[fn]; inner != nil && c.closes(inner, seen) {
			return true
		}
	}
	return false
}

// heldBefore reports that a function which was made before the lock is taken knows the variable of what unlocks, or
// that its address was taken: it may be called in ways that are not seen here.
func (c *check) heldBefore(h *hold) bool {
	for lit := range anywhere[*ast.FuncLit](h.fn.body) {
		if lit.Pos() < h.stmt.Pos() && !within(h.stmt.Pos(), lit) && c.mentions(lit, h.unlock.obj) {
			return true
		}
	}
	for e := range anywhere[*ast.UnaryExpr](h.fn.body) {
		if e.Op == token.AND && c.object(e.X) == h.unlock.obj {
			return true
		}
	}
	return false
}

// namesLimit reports that an option is used with which a hold ends by itself.
func (c *check) namesLimit() bool {
	for _, o := range c.TypesInfo.Uses {
		if fn, ok := o.(*types.Func); ok && ours(fn) && (fn.Name() == "FixedLease" || fn.Name() == "MaxHold") {
			return true
		}
	}
	return false
}

// neverUnlocked finds a way on which the lock is held and nothing unlocks it. To throw unlock away is one, if the code
// goes on with the hold at all: a caller that only asks whether the lock is busy throws away everything.
func (f *flow) neverUnlocked(n ast.Node, s state) {
	if !s.open {
		return
	}
	if f.unlock.blank() {
		if s.held == yes || f.hold.ctx.obj != nil {
			f.report(f.unlock.expr.Pos(), "what unlocks is thrown away: the lock stays held until the client is closed")
		}
		return
	}
	if s.held != yes {
		return
	}
	const missing = "%s is not called on this way %s: the lock stays held until the client is closed"
	if _, returns := n.(*ast.ReturnStmt); returns {
		f.reportOf(f.call.Pos(), n.Pos(), missing, f.nameOfUnlock(), "out")
	} else if n == f.stmt {
		f.reportOf(f.call.Pos(), n.Pos(), missing, f.nameOfUnlock(), "to the next "+f.method)
	}
}
