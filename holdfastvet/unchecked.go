package holdfastvet

import "go/ast"

// errorThrownAway finds an error of a lock that is the blank identifier.
func (c *check) errorThrownAway(h *hold) {
	if h.err.expr != nil && h.err.blank() {
		c.report(h.err.expr.Pos(), "the error of %s is thrown away: what follows may run without the lock", h.method)
	}
}

// unchecked finds work with the hold's context before the error was looked at. Code that hands on the hold and what
// unlocks it hands on the error too.
func (f *flow) unchecked(n ast.Node, before, after state) {
	if before.held != perhaps || before.asked || after.asked || !before.ctx {
		return
	}
	for call := range calls(n) {
		if !f.harmless(call) && f.passes(call) {
			f.reportOf(f.call.Pos(), call.Pos(),
				"the error of %s is not looked at before this: it may run without the lock", f.method)
		}
	}
}

// passes reports that a call is given the hold's context.
func (f *flow) passes(call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		if o := f.object(arg); o != nil && o == f.hold.ctx.obj {
			return true
		}
	}
	return false
}
