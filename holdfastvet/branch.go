package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/cfg"
)

// refine is what is true at the beginning of a block's i-th successor: its condition, if it asks for the lock's error,
// tells whether the lock is held there, and what asks for a loss tells that the hold has ended.
func (f *flow) refine(b *cfg.Block, i int, s state) state {
	if clause, ok := b.Succs[i].Stmt.(*ast.CommClause); ok && b.Succs[i].Kind == cfg.KindSelectCaseBody {
		s.letGo = s.letGo || clause.Comm != nil && f.seesTheEnd(clause.Comm)
	}
	if len(b.Succs) != 2 || len(b.Nodes) == 0 {
		return s
	}
	cond, ok := b.Nodes[len(b.Nodes)-1].(ast.Expr)
	if !ok {
		return s
	}
	s.letGo = s.letGo || f.endsBy(cond, i == 0)
	if !s.err {
		return s
	}
	switch f.tells(cond, i == 0) {
	case no:
		s.held, s.open = no, false
	case yes:
		if s.held == perhaps {
			s.held = yes
		}
	}
	return s
}

// seesTheEnd reports that a statement waits for the end of the hold's context.
func (f *flow) seesTheEnd(stmt ast.Stmt) bool {
	for recv := range here[*ast.UnaryExpr](stmt) {
		if o := f.hold.ctx.obj; recv.Op == token.ARROW && o != nil && f.doneOf(recv, elders{o: true}) != "" {
			return true
		}
	}
	return false
}

// endsBy reports that a condition, true or false, may tell that the hold has ended: it looks at the error of the hold's
// context, or for an error of ours or of a context. Then an older context is the right one.
func (f *flow) endsBy(cond ast.Expr, truth bool) bool {
	switch cond := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		return f.endsBy(cond.X, !truth)
	case *ast.BinaryExpr:
		switch cond.Op {
		case token.LAND, token.LOR:
			return f.endsBy(cond.X, truth) || f.endsBy(cond.Y, truth)
		case token.EQL, token.NEQ:
			call, ok := ast.Unparen(cond.X).(*ast.CallExpr)
			return ok && (cond.Op == token.NEQ) == truth && (f.passes(call) || f.mentions(call.Fun, f.hold.ctx.obj))
		}
	case *ast.CallExpr:
		if truth && pathOf(f.callee(cond)) == "errors" {
			for id := range anywhere[*ast.Ident](cond) {
				if o := f.TypesInfo.Uses[id]; ours(o) || pathOf(o) == "context" {
					return true
				}
			}
		}
	}
	return false
}

// tells is whether the lock is held if a condition is true, or false.
func (f *flow) tells(cond ast.Expr, truth bool) known {
	switch cond := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if cond.Op == token.NOT {
			return f.tells(cond.X, !truth)
		}
	case *ast.BinaryExpr:
		return f.compares(cond, truth)
	case *ast.CallExpr: // of errors.Is or errors.As, with the error first
		if truth && pathOf(f.callee(cond)) == "errors" && len(cond.Args) > 0 &&
			f.object(cond.Args[0]) == f.hold.err.obj {
			return no
		}
	}
	return perhaps
}

// compares is the same for a comparison with nil, and for two conditions.
func (f *flow) compares(cond *ast.BinaryExpr, truth bool) known {
	switch cond.Op {
	case token.EQL, token.NEQ:
		if !f.asksFor(cond.X, cond.Y) && !f.asksFor(cond.Y, cond.X) {
			return perhaps
		}
		if (cond.Op == token.EQL) == truth {
			return yes
		}
		return no
	case token.LAND, token.LOR:
		x, y := f.tells(cond.X, truth), f.tells(cond.Y, truth)
		switch {
		case x == y:
			return x
		case (cond.Op == token.LOR) == truth: // either may be the reason
			return perhaps
		case x == perhaps:
			return y
		}
		return x
	}
	return perhaps
}

// asksFor reports that the error of the lock is compared with nil.
func (f *flow) asksFor(x, y ast.Expr) bool {
	o := f.object(x)
	return o != nil && o == f.hold.err.obj && f.TypesInfo.Types[y].IsNil()
}

// object is the variable that an expression is; nil: it is none, or the blank one.
func (c *check) object(e ast.Expr) types.Object {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && id.Name != "_" {
		if v, ok := c.TypesInfo.ObjectOf(id).(*types.Var); ok {
			return v
		}
	}
	return nil
}
