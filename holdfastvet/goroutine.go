package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// cutOff finds a goroutine that does one piece of work with the hold's context, and that nothing waits for: unlock ends
// it in the middle. A goroutine that goes on until the hold ends, such as a heartbeat, is right, and one that reports
// its end is waited for somewhere: every loop and every use of a channel is taken for that.
func (f *flow) cutOff(n ast.Node, s state) {
	start, ok := n.(*ast.GoStmt)
	if !ok || !s.inside() || !s.ctx || !f.endsHere() || f.waits(start) {
		return
	}
	works := false
	if lit, ok := ast.Unparen(start.Call.Fun).(*ast.FuncLit); ok {
		works = f.oneShot(lit.Body)
		works = works && slices.ContainsFunc(slices.Collect(anywhere[*ast.CallExpr](lit.Body)), f.passes)
	} else {
		works = f.passes(start.Call) && f.single(start.Call)
	}
	if works {
		f.report(start.Pos(), "nothing waits for this goroutine, and %s ends with the hold, in the middle of its work",
			f.nameOfCtx())
	}
}

// endsHere reports that the hold ends in the function that began it: what unlocks is only called.
func (f *flow) endsHere() bool {
	if f.stmt == nil {
		return true
	}
	if !f.keepsUnlock() {
		return false
	}
	called := 0
	for call := range anywhere[*ast.CallExpr](f.fn.body) {
		if f.object(call.Fun) == f.unlock.obj {
			called++
		}
	}
	named := 0
	for id := range anywhere[*ast.Ident](f.fn.body) {
		if f.TypesInfo.Uses[id] == f.unlock.obj {
			named++
		}
	}
	return called > 0 && called == named
}

// waits reports that the function around a go statement waits for anything, outside of that.
func (f *flow) waits(start *ast.GoStmt) bool {
	return slices.ContainsFunc(slices.Collect(anywhere[ast.Node](f.fn.body)), func(n ast.Node) bool {
		if n == nil || within(n.Pos(), start) {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		return f.usesChannel(n) || ok && strings.HasPrefix(nameOf(call), "Wait")
	})
}

// usesChannel reports that a node waits for a channel, or tells one something.
func (c *check) usesChannel(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectStmt, *ast.SendStmt:
		return true
	case *ast.UnaryExpr:
		return n.Op == token.ARROW
	case *ast.RangeStmt:
		_, ok := c.TypesInfo.TypeOf(n.X).Underlying().(*types.Chan)
		return ok
	}
	return false
}

// oneShot reports that a body does something once, and tells nobody that it has.
func (c *check) oneShot(body ast.Node) bool {
	for n := range anywhere[ast.Node](body) {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
			return false
		case *ast.CallExpr:
			if !c.single(n) {
				return false
			}
		}
		if c.usesChannel(n) {
			return false
		}
	}
	return true
}

// single reports that a call is of something that does its work once, as far as its body or its name tells.
func (c *check) single(call *ast.CallExpr) bool {
	fn, ok := c.callee(call).(*types.Func)
	if !ok {
		return c.TypesInfo.Types[call.Fun].IsType() // a conversion
	}
	if body := c.bodies[fn]; body != nil {
		single, known := c.singles[fn]
		if !known {
			c.singles[fn] = false // what calls itself goes on
			single = c.oneShot(body)
			c.singles[fn] = single
		}
		return single
	}
	if !slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return isContext(c.TypesInfo.TypeOf(arg)) }) {
		path := pathOf(fn)
		return path == "errors" || path == "fmt" || path == "log"
	}
	return slices.ContainsFunc(deeds, func(deed string) bool { return strings.HasPrefix(fn.Name(), deed) })
}

// How the names of functions begin that do one thing, and return when it is done.
var deeds = []string{
	"Exec", "Query", "Insert", "Update", "Delete", "Save", "Store", "Set", "Put", "Post", "Send", "Create", "Write",
	"Upload",
}
