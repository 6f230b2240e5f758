package holdfastvet

import "go/ast"

// afterUnlock finds work with the hold's context after unlock has ended it: it fails at once, or is cut off.
func (f *flow) afterUnlock(n ast.Node, s state) {
	if !s.ended || !s.ctx {
		return
	}
	for call := range calls(n) {
		asks := nameOf(call) == "Held" && ours(f.callee(call))
		if !asks && !f.harmless(call) && f.passes(call) && fails(f.TypesInfo.TypeOf(call.Fun)) {
			f.report(call.Pos(), "%s has ended: %s ended the hold. Use a context from outside of the hold, or unlock "+
				"later", f.nameOfCtx(), f.nameOfUnlock())
		}
	}
}

// afterUnlockInside looks for the same in the functions, deferred ones above all, that call unlock.
func (f *flow) afterUnlockInside() {
	if f.unlock.obj == nil || f.hold.ctx.obj == nil {
		return
	}
	ast.Inspect(f.fn.body, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if ok && !within(f.stmt.Pos(), lit) && f.mentions(lit, f.unlock.obj) {
			inner := &flow{check: f.check, hold: f.hold}
			inner.visit = func(n ast.Node, before, _ state) { inner.afterUnlock(n, before) }
			inner.follow(lit.Body, state{held: perhaps, ctx: true, asked: true})
		}
		return true
	})
}
