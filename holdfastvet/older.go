package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// elders are the variables of contexts that are older than a hold, and of HTTP requests whose Context is one.
type elders map[types.Object]bool

// eldersOf are the contexts and requests in an expression that was given to a lock, with those that they were made
// from. Those of a package's variables are left out: they are roots, which nobody takes for a hold's.
func (c *check) eldersOf(e ast.Expr) elders {
	found := make(elders)
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			o := c.object(id)
			for o != nil && o.Parent() != o.Pkg().Scope() && !found[o] && (isContext(o.Type()) || isRequest(o.Type())) {
				found[o] = true
				o = c.parents[o]
			}
		}
		return true
	})
	return found
}

// derives notes a context that is made from another one, or from a request.
func (c *check) derives(lhs, rhs []ast.Expr) {
	if len(lhs) == 0 || len(rhs) != 1 {
		return
	}
	made := c.object(lhs[0])
	for from := range c.eldersOf(rhs[0]) {
		if made != nil && made != from && c.older(rhs[0], elders{from: true}) != "" {
			c.parents[made] = from
		}
	}
}

// older is how the code calls the context or request of a set that an expression is, or is made from; "": of none. What
// is taken from a context but does not end with it may outlive the hold, and is meant to.
func (c *check) older(e ast.Expr, set elders) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if set[c.object(e)] {
			return e.Name
		}
	case *ast.CallExpr:
		sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		switch path, name := pathOf(c.callee(e)), sel.Sel.Name; {
		case path == "net/http" && name == "Context" && set[c.object(sel.X)]:
			return types.ExprString(e)
		case path == "net/http" && (name == "WithContext" || name == "Clone") && len(e.Args) == 1,
			path == "context" && name != "WithoutCancel" && len(e.Args) > 0:
			return c.older(e.Args[0], set)
		}
	}
	return ""
}

func isRequest(t types.Type) bool {
	p, ok := t.(*types.Pointer)
	return ok && isNamed(p.Elem(), "net/http", "Request")
}

// tooOld finds contexts and requests that are older than the hold, and used inside it.
func (f *flow) tooOld(n ast.Node, s state) {
	if !s.inside() || len(s.old) == 0 {
		return
	}
	for call := range calls(n) {
		f.enter(call, s)
		if f.harmless(call) {
			continue
		}
		for _, arg := range call.Args {
			name := f.older(arg, s.old)
			switch t := f.TypesInfo.TypeOf(arg); {
			case name == "":
			case isContext(t):
				f.reportOlder(arg, name)
			case isRequest(t) && f.handles(call):
				f.report(arg.Pos(), "%s has a context that is older than the hold: hand on a request with the %s",
					name, f.newer())
			}
		}
	}
	for recv := range here[*ast.UnaryExpr](n) {
		if recv.Op == token.ARROW {
			f.awaits(recv, n, s)
		}
	}
}

// reportOlder reports the use of an older context.
func (f *flow) reportOlder(at ast.Expr, name string) {
	switch own := f.nameOfCtx(); {
	case f.stmt == nil:
		f.report(at.Pos(), "%s is older than the hold of this %s: use the context that the function is given",
			name, f.method)
	case own == "":
		f.report(at.Pos(), "%s is used while the lock is held, and the context that %s returned is thrown away: "+
			"a loss goes unseen, and a nested Lock waits for its own caller", name, f.method)
	case own == name:
		f.report(at.Pos(), "%s is older than the hold: the %s that %s returned shadows it in an inner block only",
			name, name, f.method)
	default:
		f.report(at.Pos(), "%s is older than the hold: use %s, which %s returned", name, own, f.method)
	}
}

// newer says which context is the hold's.
func (f *flow) newer() string {
	if f.stmt == nil {
		return "context that the function is given"
	}
	return "context that " + f.method + " returned"
}

// handles reports that a call hands a request on to a handler.
func (c *check) handles(call *ast.CallExpr) bool {
	return nameOf(call) == "ServeHTTP" || isNamed(c.TypesInfo.TypeOf(call.Fun), "net/http", "HandlerFunc")
}

// enter looks at a function that a call runs here: one that is called on the spot, or that is passed on together with
// a context that is not older, and may fail, as those of transactions are.
func (f *flow) enter(call *ast.CallExpr, s state) {
	inner := &flow{check: f.check, hold: f.hold}
	inner.visit = func(n ast.Node, before, _ state) { inner.tooOld(n, before) }
	if lit, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		inner.follow(lit.Body, s)
	}
	if pathOf(f.callee(call)) == "context" || !fails(f.TypesInfo.TypeOf(call.Fun)) {
		return
	}
	var newer bool
	for _, arg := range call.Args {
		if lit, ok := ast.Unparen(arg).(*ast.FuncLit); ok && newer && fails(f.TypesInfo.TypeOf(lit)) {
			inner.follow(lit.Body, s)
		}
		newer = newer || isContext(f.TypesInfo.TypeOf(arg)) && f.older(arg, s.old) == "" && !f.root(arg)
	}
}

// root reports that an expression is a context of nobody's.
func (c *check) root(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && pathOf(c.callee(call)) == "context" && len(call.Args) == 0
}

// awaits finds a wait for the end of an older context, which goes on when the lock is lost. Where something else is
// waited for as well, that may end with the hold, and only clocks are known not to; with a default nothing waits.
func (f *flow) awaits(recv *ast.UnaryExpr, comm ast.Node, s state) {
	name := f.doneOf(recv, s.old)
	if name == "" {
		return
	}
	if stmt, ok := comm.(ast.Stmt); ok && f.selects[stmt] != nil {
		for _, clause := range f.selects[stmt].Body.List {
			if other := clause.(*ast.CommClause).Comm; other == nil || other != stmt && !f.ticks(other) {
				return
			}
		}
	}
	f.reportOlder(recv, name)
}

// doneOf is how the code calls the older context whose Done is received from.
func (c *check) doneOf(recv *ast.UnaryExpr, old elders) string {
	call, ok := ast.Unparen(recv.X).(*ast.CallExpr)
	if !ok {
		return ""
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Done" || !isContext(c.TypesInfo.TypeOf(sel.X)) {
		return ""
	}
	return c.older(sel.X, old)
}

// ticks reports that a case of a select receives from a clock.
func (c *check) ticks(comm ast.Stmt) (clock bool) {
	for recv := range here[*ast.UnaryExpr](comm) {
		if ch, ok := c.TypesInfo.TypeOf(recv.X).Underlying().(*types.Chan); ok && recv.Op == token.ARROW {
			clock = isNamed(ch.Elem(), "time", "Time")
		}
	}
	return clock
}
