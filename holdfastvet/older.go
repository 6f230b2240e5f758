package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
)

// elders are contexts that are older than a hold.
type elders struct {
	vars     map[types.Object]bool
	requests map[types.Object]bool // HTTP requests, whose Context is one
}

// eldersOf are the contexts in an expression that was given to a lock, with those that they were made from. Those of a
// package's variables are left out: they are roots, which nobody takes for a hold's.
func (c *check) eldersOf(e ast.Expr) elders {
	found := elders{make(map[types.Object]bool), make(map[types.Object]bool)}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			for o := c.object(n); o != nil && isContext(o.Type()) && o.Parent() != o.Pkg().Scope(); o = c.parents[o] {
				if found.vars[o] {
					break
				}
				found.vars[o] = true
			}
		case *ast.CallExpr:
			if r := c.requestOf(n); r != nil {
				found.requests[r] = true
			}
		}
		return true
	})
	return found
}

// requestOf is the HTTP request whose Context a call is.
func (c *check) requestOf(call *ast.CallExpr) types.Object {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Context" || pathOf(c.callee(call)) != "net/http" {
		return nil
	}
	return c.object(sel.X)
}

// olderThan finds older contexts that are used while the lock is held.
func (c *check) olderThan(t *taking) {
	old := c.eldersOf(t.call.Args[0])
	delete(old.vars, t.held) // the variable has the hold from now on
	body := enclosing(t.stack)
	if c.inTest(t.stmt) || t.unlock == nil || body == nil || len(old.vars)+len(old.requests) == 0 {
		return // who throws away what unlocks expects an error
	}
	s := &scan{check: c, old: old, err: t.err, until: c.letGo(body, t)}
	s.report = func(at ast.Expr, name string) {
		switch {
		case t.held == nil:
			c.Reportf(at.Pos(), "%s is used while the lock is held, and the context that %s returned is thrown away: "+
				"a loss goes unseen, and a nested Lock waits for its own caller", name, t.method)
		case t.held.Name() == name:
			c.Reportf(at.Pos(), "%s is older than the hold: the %s that %s returned shadows it in an inner block only",
				name, name, t.method)
		default:
			c.Reportf(at.Pos(), "%s is older than the hold: use %s, which %s returned", name, t.held.Name(), t.method)
		}
	}
	s.after(t)
}

// letGo is where the hold ends at the earliest, or may: the first statement that mentions what unlocks it, and defers
// nothing.
func (c *check) letGo(body *ast.BlockStmt, t *taking) token.Pos {
	first, stmt := body.End(), body.Pos()
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt:
			return false
		case *ast.ExprStmt, *ast.AssignStmt, *ast.ReturnStmt, *ast.GoStmt, *ast.SendStmt:
			stmt = n.Pos()
		case *ast.Ident:
			if n.Pos() > t.stmt.End() && c.TypesInfo.Uses[n] == t.unlock {
				first = min(first, max(stmt, t.stmt.End()))
			}
		}
		return true
	})
	return first
}

// scan looks for older contexts where a lock is held.
type scan struct {
	*check
	old    elders
	err    types.Object // nil: the lock is held in any case
	until  token.Pos
	report func(at ast.Expr, name string)
}

// use looks at a call's arguments.
func (s *scan) use(call *ast.CallExpr) {
	if s.harmless(call) {
		return
	}
	for _, arg := range call.Args {
		switch arg := ast.Unparen(arg).(type) {
		case *ast.Ident:
			if s.old.vars[s.object(arg)] && arg.Pos() < s.until {
				s.report(arg, arg.Name)
			}
		case *ast.CallExpr:
			if r := s.requestOf(arg); r != nil && s.old.requests[r] && arg.Pos() < s.until {
				s.report(arg, r.Name()+".Context()")
			}
		}
	}
}

// in looks at all that a node does here and now: not at what it starts, defers or leaves to functions that somebody
// else calls.
func (s *scan) in(node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt, *ast.FuncLit:
			return false
		case *ast.IfStmt:
			if s.mentionsErr(n.Cond) {
				s.branch(n)
				return false
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if s.mentionsErr(e) {
					return false
				}
			}
		case *ast.AssignStmt:
			s.assigned(n)
		case *ast.CallExpr:
			if lit, ok := n.Fun.(*ast.FuncLit); ok {
				s.in(lit.Body)
			}
			s.use(n)
		}
		return true
	})
}

// assigned takes note of an older variable that gets another value: from then on it is no older one.
func (s *scan) assigned(a *ast.AssignStmt) {
	for _, lhs := range a.Lhs {
		if o := s.object(lhs); s.old.vars[o] {
			s.old.vars = maps.Clone(s.old.vars)
			delete(s.old.vars, o)
		}
	}
}
