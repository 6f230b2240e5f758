package holdfastvet

import (
	"go/ast"
	"go/types"
)

// again finds a lock that is taken, while it is held, with a context that belongs to nobody: the call waits for its own
// caller.
func (f *flow) again(n ast.Node, s state) {
	if !s.inside() {
		return
	}
	for call := range calls(n) {
		method := f.locks(call)
		if method != "" && f.root(call.Args[0]) && f.excludes(receiver(f.call), receiver(call)) {
			f.report(call.Args[0].Pos(), "this %s does not know that the lock is held, and waits for its own caller: "+
				"give it the %s", method, f.newer())
		}
	}
}

// locks is the name of a method that a call is of, if that takes a lock, or runs a function with it; "": it does
// neither.
func (c *check) locks(call *ast.CallExpr) string {
	if taken, method := c.takes(call); taken != nil {
		return method
	}
	method, _ := c.runs(call)
	return method
}

// excludes reports that two expressions are handles of one lock, of which a hold of the one keeps out the other.
func (c *check) excludes(x, y ast.Expr) bool {
	a, side := c.sideOf(x)
	b, other := c.sideOf(y)
	if a != nil && b != nil {
		return (side == "Write" || other == "Write") && c.ofOneLock(a, b)
	}
	return x != nil && y != nil && c.same(x, y)
}

// same reports that two expressions are the same variable, field, or method of one without arguments.
func (c *check) same(x, y ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		y, ok := ast.Unparen(y).(*ast.Ident)
		return ok && c.TypesInfo.Uses[x] != nil && c.TypesInfo.Uses[x] == c.TypesInfo.Uses[y]
	case *ast.SelectorExpr:
		y, ok := ast.Unparen(y).(*ast.SelectorExpr)
		return ok && c.TypesInfo.Uses[x.Sel] == c.TypesInfo.Uses[y.Sel] && c.same(x.X, y.X)
	case *ast.CallExpr: // such as Write of a read-write lock
		y, ok := ast.Unparen(y).(*ast.CallExpr)
		_, method := c.callee(x).(*types.Func)
		return ok && method && len(x.Args)+len(y.Args) == 0 && ours(c.callee(x)) && c.same(x.Fun, y.Fun)
	}
	return false
}
