package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// dropped finds a statement that calls unlock and drops its error: a deferred one, and any other that does not stand
// where the code deals with a failure, which is what its caller learns of there.
func (c *check) dropped(cur inspector.Cursor) {
	call := called(cur.Node())
	if call == nil || !c.unlocking(call) {
		return
	}
	_, defers := cur.Node().(*ast.DeferStmt)
	switch defers = defers || inDefer(cur); {
	case c.afterFailure(cur):
	case defers:
		c.report(call.Pos(), "the error of %s is dropped, and with it the loss of the lock: "+
			"join it to a named result, or use Do", nameOf(call))
	case !c.inTest(call):
		c.report(call.Pos(), "the error of %s is dropped, and with it the loss of the lock: "+
			"return it with that of the work, or use Do", nameOf(call))
	}
}

// called is the call that a statement consists of; nil: it is another statement.
func called(stmt ast.Node) *ast.CallExpr {
	switch n := stmt.(type) {
	case *ast.ExprStmt:
		call, _ := ast.Unparen(n.X).(*ast.CallExpr)
		return call
	case *ast.GoStmt:
		return n.Call
	case *ast.DeferStmt:
		return n.Call
	}
	return nil
}

// inDefer reports that a statement stands in a function literal that a defer calls.
func inDefer(cur inspector.Cursor) bool {
	for outer := range cur.Parent().Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		_, calls := outer.Parent().Node().(*ast.CallExpr)
		_, defers := outer.Parent().Parent().Node().(*ast.DeferStmt)
		return calls && defers
	}
	return false
}

// afterFailure reports that a statement stands where something is known to have failed, or before a panic or the end of
// the process.
func (c *check) afterFailure(cur inspector.Cursor) bool {
	for next, ok := cur.NextSibling(); ok; next, ok = next.NextSibling() {
		if call := called(next.Node()); call != nil && !mayReturn(call) {
			return true
		}
	}
	at := cur.Node().Pos()
	for outer := range cur.Parent().Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil), (*ast.IfStmt)(nil),
		(*ast.CaseClause)(nil)) {
		switch n := outer.Node().(type) {
		case *ast.IfStmt:
			if within(at, n.Body) && c.failed(n.Cond) {
				return true
			}
		case *ast.CaseClause:
			if len(n.List) == 1 && c.failed(n.List[0]) {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// failed reports that a condition is true only of a failure: of an error that is not nil, or is a certain one.
func (c *check) failed(cond ast.Expr) bool {
	switch cond := ast.Unparen(cond).(type) {
	case *ast.BinaryExpr:
		switch cond.Op {
		case token.LAND:
			return c.failed(cond.X) || c.failed(cond.Y)
		case token.LOR:
			return c.failed(cond.X) && c.failed(cond.Y)
		case token.NEQ:
			return isError(c.TypesInfo.TypeOf(cond.X)) && c.TypesInfo.Types[cond.Y].IsNil()
		}
	case *ast.CallExpr:
		return pathOf(c.callee(cond)) == "errors"
	}
	return false
}

// droppedByDo finds a statement that calls Do or Run and drops the error.
func (c *check) droppedByDo(stmt ast.Node) {
	call := called(stmt)
	if call == nil || c.inTest(call) {
		return
	}
	if name, ok := c.runs(call); ok {
		c.report(call.Pos(), "the error of %s is dropped, and with it whether the work was done, and with the lock "+
			"held", name)
	}
}

// deferred finds an unlock whose error a deferred function stores where nobody reads it. Body is that of the function
// around it.
func (c *check) deferred(d *ast.DeferStmt, body *ast.BlockStmt) {
	lit, ok := d.Call.Fun.(*ast.FuncLit)
	if !ok || body == nil {
		return
	}
	for a := range here[*ast.AssignStmt](lit.Body) {
		c.stored(a, lit, body)
	}
}

// unlocking reports that a call is of what a lock returned.
func (c *check) unlocking(call *ast.CallExpr) bool {
	o := c.variable(call.Fun)
	return o != nil && c.unlocks[o]
}

// variable is the variable or the field that an expression is; nil: it is none.
func (c *check) variable(e ast.Expr) types.Object {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return c.object(e)
	}
	if v, ok := c.TypesInfo.Uses[sel.Sel].(*types.Var); ok {
		return v
	}
	return nil
}

// stored finds the error of unlock stored, by a deferred function, in a variable of the function around it that nobody
// reads any more: the results were set before, unless the variable is one of them.
func (c *check) stored(a *ast.AssignStmt, lit *ast.FuncLit, body *ast.BlockStmt) {
	if a.Tok != token.ASSIGN || !c.unlocksIn(a) {
		return
	}
	for _, lhs := range a.Lhs {
		o := c.object(lhs)
		if o == nil || !within(o.Pos(), body) || within(o.Pos(), lit.Body) || c.readLater(o, a, lit, body) {
			continue
		}
		c.report(a.Pos(), "%s is no named result: the function has returned when the error of unlock is stored in it",
			o.Name())
	}
}

// unlocksIn reports that the right side of an assignment unlocks.
func (c *check) unlocksIn(a *ast.AssignStmt) (found bool) {
	for _, rhs := range a.Rhs {
		ast.Inspect(rhs, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			found = found || ok && c.unlocking(call)
			return !found
		})
	}
	return found
}

// readLater reports that a variable may be read after a deferred function has set it: by the rest of that, by another
// function, or through its address.
func (c *check) readLater(o types.Object, set *ast.AssignStmt, lit *ast.FuncLit, body *ast.BlockStmt) (read bool) {
	var inspect func(n ast.Node, elsewhere bool)
	inspect = func(node ast.Node, elsewhere bool) {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				if n != lit && !elsewhere {
					inspect(n.Body, true)
					return false
				}
			case *ast.UnaryExpr:
				read = read || n.Op == token.AND && c.object(n.X) == o
			case *ast.Ident:
				if c.TypesInfo.Uses[n] == o {
					read = read || elsewhere || within(n.Pos(), lit) && n.Pos() > set.End()
				}
			}
			return !read
		})
	}
	inspect(body, false)
	return read
}
