package holdfastvet

import (
	"go/ast"
	"slices"
)

// everyTurn finds an unlock that is deferred in a loop, on a way back to the Lock: it runs when the function returns. A
// loop that gathers several locks for one piece of work means that, so a report needs a sign that it does not: each
// turn takes the same lock, or does its work with the hold.
func (f *flow) everyTurn(back state) {
	if !back.later || f.unlock.obj == nil {
		return
	}
	loop, body := f.loop()
	if loop == nil {
		return
	}
	for _, stmt := range body.List {
		d, ok := stmt.(*ast.DeferStmt)
		if ok && f.mentions(d, f.unlock.obj) && (f.sameEachTurn(loop) || f.doneInTheTurn(body)) {
			f.report(d.Pos(), "%s is deferred in a loop: the hold of each turn lasts until the function returns. "+
				"Unlock in the turn, or give its context to the next %s", f.nameOfUnlock(), f.method)
		}
	}
}

// loop is the one whose body takes the lock in every turn; nil: there is none.
func (f *flow) loop() (loop ast.Node, body *ast.BlockStmt) {
	for n := range anywhere[ast.Stmt](f.fn.body) {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.ForStmt:
			body = n.Body
		case *ast.RangeStmt:
			body = n.Body
		default:
			continue
		}
		if slices.ContainsFunc(body.List, func(s ast.Stmt) bool { return ast.Node(s) == f.stmt }) {
			return n, body
		}
	}
	return nil, nil
}

// sameEachTurn reports that each turn takes the same lock, with a context that does not know of the turn before. Of
// permits several are taken for one piece of work, and of read locks any number.
func (f *flow) sameEachTurn(loop ast.Node) bool {
	lock := receiver(f.call)
	_, side := f.sideOf(lock)
	return f.method != "Acquire" && f.method != "TryAcquire" && side != "Read" &&
		f.constant(lock, loop) && f.constant(f.call.Args[0], loop)
}

// constant reports that an expression names only what stands outside of a loop, and is not set in it.
func (f *flow) constant(e ast.Expr, loop ast.Node) bool {
	for id := range anywhere[*ast.Ident](e) {
		o := f.object(id)
		if o == nil || o.Parent() == nil { // no variable, or a field
			continue
		}
		if within(o.Pos(), loop) {
			return false
		}
		for a := range anywhere[*ast.AssignStmt](loop) {
			if slices.ContainsFunc(a.Lhs, func(l ast.Expr) bool { return f.mentions(l, o) }) {
				return false
			}
		}
	}
	return true
}

// doneInTheTurn reports that the work with the hold is done in the loop: its context belongs to the turn, and is only
// passed to calls there. The work of the next turn then does not learn that this hold was lost.
func (f *flow) doneInTheTurn(body *ast.BlockStmt) (works bool) {
	o := f.hold.ctx.obj
	if o == nil || !within(o.Pos(), body) {
		return false
	}
	uses := 0
	for id := range anywhere[*ast.Ident](body) {
		if f.TypesInfo.Uses[id] == o {
			uses++
		}
	}
	for call := range calls(body) {
		if nameOf(call) == "append" {
			continue
		}
		for _, arg := range call.Args {
			if f.object(arg) == o {
				uses--
				works = works || !f.harmless(call) && !ours(f.callee(call))
			}
		}
	}
	return works && uses == 0
}
