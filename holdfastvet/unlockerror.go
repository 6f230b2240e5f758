package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// deferred finds an unlock whose error its defer loses. Body is that of the function around it.
func (c *check) deferred(d *ast.DeferStmt, body *ast.BlockStmt) {
	if c.unlocking(d.Call) {
		c.dropped(d.Call)
		return
	}
	lit, ok := d.Call.Fun.(*ast.FuncLit)
	if !ok || body == nil {
		return
	}
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && c.unlocking(call) {
				c.dropped(call)
			}
		case *ast.AssignStmt:
			c.stored(n, lit, body)
		}
		return true
	})
}

func (c *check) dropped(call *ast.CallExpr) {
	c.report(call.Pos(), "the error of %s is dropped, and with it the loss of the lock: "+
		"join it to a named result, or use Do", nameOf(call))
}

// unlocking reports that a call is of what a lock returned.
func (c *check) unlocking(call *ast.CallExpr) bool {
	o := c.object(call.Fun)
	return o != nil && c.unlocks[o]
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
