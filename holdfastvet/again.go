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
		taken, method := f.takes(call)
		if taken == nil {
			if name, ok := f.runs(call); ok {
				taken, method = call, name
			}
		}
		if taken != nil && f.root(call.Args[0]) && f.sameReceiver(call, f.call) {
			f.report(call.Args[0].Pos(), "this %s does not know that the lock is held, and waits for its own caller: "+
				"give it the %s", method, f.newer())
		}
	}
}

// sameReceiver reports that two calls are of methods of the same variable or field.
func (c *check) sameReceiver(x, y *ast.CallExpr) bool {
	a, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	b, also := ast.Unparen(y.Fun).(*ast.SelectorExpr)
	return ok && also && c.same(a.X, b.X)
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
