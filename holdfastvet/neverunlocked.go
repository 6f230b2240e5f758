package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// allThrownAway finds a statement that takes a lock and keeps nothing of what that returns.
func (c *check) allThrownAway(stmt ast.Node) {
	stated := called(stmt)
	if stated == nil {
		return
	}
	if call, method := c.takes(stated); call != nil && !c.inTest(call) {
		c.report(call.Pos(), "all that %s returned is thrown away: nothing can unlock, or see whether it is held",
			method)
	}
}

// mayStay reports that a hold may be meant to end without an unlock: with its lease, which is fixed, or its MaxHold;
// with the client, which the same function closes; or with the process.
func (c *check) mayStay(h *hold) bool {
	if h.stmt == nil || c.endsByItself(h) {
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

// limits are the options with which a hold ends by itself.
type limits struct{ fixedLease, maxHold bool }

// namedLimits are those that the package names.
func (c *check) namedLimits() (named limits) {
	for _, o := range c.TypesInfo.Uses {
		if fn, ok := o.(*types.Func); ok && ours(fn) {
			named.fixedLease = named.fixedLease || fn.Name() == "FixedLease"
			named.maxHold = named.maxHold || fn.Name() == "MaxHold"
		}
	}
	return named
}

// limitsOf are those that a hold's handle was made with; of a handle that was made elsewhere, or with options that are
// not seen, those that the package names.
func (c *check) limitsOf(h *hold) (own limits) {
	made, _ := c.handle(receiver(h.call))
	if made == nil || !ofClient(c.TypesInfo.TypeOf(made.Args[0])) {
		return c.limits
	}
	for _, arg := range made.Args[2:] {
		option, ok := ast.Unparen(arg).(*ast.CallExpr)
		if !ok || !ours(c.callee(option)) {
			return c.limits
		}
		own.fixedLease = own.fixedLease || nameOf(option) == "FixedLease"
		own.maxHold = own.maxHold || nameOf(option) == "MaxHold"
	}
	return own
}

// ofClient reports that a type is that of a client; a handle that is made of other handles has their options too.
func ofClient(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && ours(named.Obj()) && named.Obj().Name() == "Client"
}

// endsByItself reports that a hold may be meant to end with its lease or its MaxHold. MaxHold bounds holds whose holder
// is stuck: code that unlocks on one way and not on another does not mean to leave the hold to it.
func (c *check) endsByItself(h *hold) bool {
	own := c.limitsOf(h)
	return own.fixedLease || own.maxHold && !c.mentions(h.fn.body, h.unlock.obj)
}

// neverUnlocked finds a way on which the lock is held and nothing unlocks it. To throw unlock away is one, if the code
// goes on with the hold at all: a caller that only asks whether the lock is busy throws away everything.
func (f *flow) neverUnlocked(n ast.Node, s state) {
	if !s.open {
		return
	}
	if f.unlock.blank() {
		if s.held == yes || f.hold.ctx.obj != nil {
			f.report(f.unlock.expr.Pos(), "what unlocks is thrown away: the lock stays held until %s", f.lastEnd())
		}
		return
	}
	if s.held != yes {
		return
	}
	const missing = "%s is not called on this way %s: the lock stays held until %s"
	if _, returns := n.(*ast.ReturnStmt); returns {
		f.reportOf(f.call.Pos(), n.Pos(), missing, f.nameOfUnlock(), "out", f.lastEnd())
	} else if n == f.stmt {
		f.reportOf(f.call.Pos(), n.Pos(), missing, f.nameOfUnlock(), "to the next "+f.method, f.lastEnd())
	}
}

// lastEnd says what ends a hold that nothing unlocks.
func (f *flow) lastEnd() string {
	if f.limitsOf(f.hold).maxHold {
		return "its MaxHold, or until the client is closed"
	}
	return "the client is closed"
}
