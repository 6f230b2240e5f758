package holdfastvet

import (
	"go/ast"
	"go/types"
)

// refused finds a lock that is taken with a context that carries a hold of it, by a handle that was made with
// NonReentrant: the call always fails. That is certain only where the package shows how the handles were made.
func (f *flow) refused(n ast.Node, s state) {
	if !s.inside() || !s.ctx {
		return
	}
	outer, _ := f.handle(receiver(f.call))
	for call := range calls(n) {
		method := f.locks(call)
		if method == "" || !f.carries(call.Args[0]) {
			continue
		}
		inner, _ := f.handle(receiver(call))
		if outer != nil && inner != nil && f.oneLock(outer, inner) && f.nonReentrant(inner) {
			f.report(call.Args[0].Pos(), "this %s always fails: %s carries a hold of the same lock, and the handle is "+
				"NonReentrant", method, types.ExprString(call.Args[0]))
		}
	}
}

// oneLock reports that two calls of New make handles of the same lock, or are the same.
func (c *check) oneLock(x, y *ast.CallExpr) bool {
	return x == y || c.callee(x) == c.callee(y) && c.equal(x.Args[0], y.Args[0]) && c.equal(x.Args[1], y.Args[1])
}

// nonReentrant reports that a call of New has the option NonReentrant.
func (c *check) nonReentrant(made *ast.CallExpr) bool {
	for _, arg := range made.Args[1:] {
		option, ok := ast.Unparen(arg).(*ast.CallExpr)
		if ok && ours(c.callee(option)) && nameOf(option) == "NonReentrant" {
			return true
		}
	}
	return false
}
