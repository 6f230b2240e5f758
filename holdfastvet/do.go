package holdfastvet

import (
	"go/ast"
	"go/token"
)

// closureOf finds older contexts in the function that a lock's Do is given.
func (c *check) closureOf(call *ast.CallExpr) {
	if len(call.Args) < 2 || !c.runs(call) || c.inTest(call) {
		return
	}
	lit, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.FuncLit)
	if !ok {
		return
	}
	s := &scan{check: c, old: c.eldersOf(call.Args[0]), until: token.Pos(1 << 62)}
	s.report = func(at ast.Expr, name string) {
		c.Reportf(at.Pos(), "%s is older than the hold of this Do: use the context that the function is given", name)
	}
	s.in(lit.Body)
}
