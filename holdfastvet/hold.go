package holdfastvet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// hold is a place where code takes a lock: a statement that keeps what a lock's method returned, or the function that a
// lock's Do is given, which is called with one.
type hold struct {
	call   *ast.CallExpr
	method string
	stmt   ast.Node // takes the lock; nil: fn is what Do is given
	fn     function // in which the hold begins

	ctx, unlock, err result
}

// result is one of those of a call that takes a lock.
type result struct {
	expr ast.Expr     // nil: there is none, as of a Do
	obj  types.Object // the variable that it is stored in; nil: the blank one, or something else
}

// blank reports that a result is thrown away.
func (r result) blank() bool {
	id, ok := r.expr.(*ast.Ident)
	return ok && id.Name == "_"
}

// function is one of the code under analysis: a *ast.FuncDecl or a *ast.FuncLit.
type function struct {
	ast.Node
	body *ast.BlockStmt
}

// enclosing is the innermost function around a node; its Node is nil if there is none.
func enclosing(cur inspector.Cursor) function {
	for outer := range cur.Parent().Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch fn := outer.Node().(type) {
		case *ast.FuncDecl:
			return function{fn, fn.Body}
		case *ast.FuncLit:
			return function{fn, fn.Body}
		}
	}
	return function{}
}

// byHand is the hold that a statement takes; nil: it takes none.
func (c *check) byHand(cur inspector.Cursor, lhs, rhs []ast.Expr) *hold {
	if len(lhs) != 3 || len(rhs) != 1 {
		return nil
	}
	call, name := c.takes(rhs[0])
	fn := enclosing(cur)
	if call == nil || fn.Node == nil {
		return nil
	}
	return &hold{
		call: call, method: name, stmt: cur.Node(), fn: fn,
		ctx: c.result(lhs[0]), unlock: c.result(lhs[1]), err: c.result(lhs[2]),
	}
}

func (c *check) result(e ast.Expr) result { return result{e, c.object(e)} }

// byDo is the hold with which a lock's Do calls the function that it is given; nil: the call is of something else, or
// the function stands elsewhere.
func (c *check) byDo(call *ast.CallExpr) *hold {
	name, ok := c.runs(call)
	if !ok {
		return nil
	}
	lit, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.FuncLit)
	if !ok {
		return nil
	}
	h := &hold{call: call, method: name, fn: function{lit, lit.Body}}
	if first := lit.Type.Params.List; len(first) > 0 && len(first[0].Names) > 0 {
		h.ctx = c.result(first[0].Names[0])
	}
	return h
}

// keepsUnlock reports that a hold's unlock is in a variable of the function that took the lock, which alone decides
// when it is called.
func (h *hold) keepsUnlock() bool { return h.unlock.obj != nil && within(h.unlock.obj.Pos(), h.fn) }

// begin is what is true where a hold begins.
func (c *check) begin(h *hold) state {
	s := state{
		held: perhaps, err: h.err.obj != nil, asked: h.err.obj == nil, ctx: h.ctx.obj != nil,
		open: h.keepsUnlock() || h.unlock.blank(),
	}
	if h.stmt == nil || h.err.blank() {
		s.held = yes
	}
	if h.stmt == nil || h.unlock.obj != nil { // otherwise what ends the hold is not seen
		s.old = c.eldersOf(h.call.Args[0])
		delete(s.old, h.ctx.obj) // the variable has the hold from now on
	}
	return s
}

// nameOfCtx is how the code calls the hold's context; "": it was thrown away.
func (h *hold) nameOfCtx() string {
	if h.ctx.expr == nil || h.ctx.blank() {
		return ""
	}
	return types.ExprString(h.ctx.expr)
}

// nameOfUnlock is how the code calls what unlocks.
func (h *hold) nameOfUnlock() string {
	switch {
	case !h.unlock.blank():
		return types.ExprString(h.unlock.expr)
	case h.method == "Campaign":
		return "resign"
	}
	return "unlock"
}
