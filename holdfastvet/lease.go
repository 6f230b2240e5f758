package holdfastvet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// idleLease finds a lease that a handle asks for though the context carries a hold of the same lock: the outermost Lock
// decided the lease. That is certain only where the package shows how both handles were made.
func (f *flow) idleLease(n ast.Node, s state) {
	if !s.inside() || !s.ctx {
		return
	}
	for call := range calls(n) {
		method := f.locks(call)
		if !slices.Contains([]string{"Lock", "TryLock", "Do"}, method) || !f.carries(call.Args[0]) {
			continue
		}
		inner := f.ofSameLock(call)
		if inner == nil {
			continue
		}
		for _, arg := range inner.Args[2:] {
			if name := f.leaseOf(arg); name != "" {
				f.report(arg.Pos(), "this %s changes nothing: %s carries a hold of the same lock, and the outermost "+
					"Lock decided the lease", name, types.ExprString(call.Args[0]))
			}
		}
	}
}

// carries reports that an expression is the hold's context, or is made from it.
func (f *flow) carries(ctx ast.Expr) bool {
	for ctx != nil {
		if f.older(ctx, elders{f.hold.ctx.obj: true}) != "" {
			return true
		}
		ctx = f.value(ctx)
	}
	return false
}

// ofSameLock is what made the handle of a call, if that is another one than the hold's, of the same lock; nil: it is
// not, or nobody knows.
func (f *flow) ofSameLock(call *ast.CallExpr) *ast.CallExpr {
	outer, side := f.handle(receiver(f.call))
	inner, innerSide := f.handle(receiver(call))
	if outer == nil || inner == nil || outer == inner || side != innerSide || !f.oneLock(outer, inner) {
		return nil
	}
	return inner
}

// receiver is what a method is called of; nil: nothing.
func receiver(call *ast.CallExpr) ast.Expr {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return sel.X
	}
	return nil
}

// handle is the call of New that made a handle, for a client and a name, and which side of the lock it is of, where it
// has two; nil: nobody knows.
func (c *check) handle(e ast.Expr) (made *ast.CallExpr, side string) {
	if v := c.value(e); v != nil {
		return c.handle(v)
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return nil, ""
	}
	fn, ok := c.callee(call).(*types.Func)
	switch {
	case !ok || !ours(fn):
	case fn.Signature().Recv() != nil && len(call.Args) == 0: // Read or Write
		made, _ = c.handle(receiver(call))
		return made, fn.Name()
	case fn.Name() == "New" && len(call.Args) > 1:
		return call, ""
	}
	return nil, ""
}

// leaseOf is the name of an option that sets a lease; "": it is something else.
func (c *check) leaseOf(option ast.Expr) string {
	if call, ok := ast.Unparen(option).(*ast.CallExpr); ok && ours(c.callee(call)) {
		if name := nameOf(call); name == "Lease" || name == "FixedLease" {
			return name
		}
	}
	return ""
}

// equal reports that two expressions are the same constant, or the same variable that never changes, or field.
func (c *check) equal(x, y ast.Expr) bool {
	if a, b := c.TypesInfo.Types[x].Value, c.TypesInfo.Types[y].Value; a != nil || b != nil {
		return a != nil && b != nil && constant.Compare(a, token.EQL, b)
	}
	return c.same(x, y) && !c.changed[c.object(x)]
}

// value is what a variable is defined as that never changes; nil: it does, or is none.
func (c *check) value(e ast.Expr) ast.Expr {
	if o := c.object(e); o != nil && !c.changed[o] {
		return c.values[o]
	}
	return nil
}

// defines notes what variables are defined as, and which of them change.
func (c *check) defines(lhs, rhs []ast.Expr) {
	for i, l := range lhs {
		o, id := c.object(l), (*ast.Ident)(nil)
		if o == nil {
			continue
		}
		if id, _ = ast.Unparen(l).(*ast.Ident); c.TypesInfo.Defs[id] == nil {
			c.changed[o] = true
		} else if i < len(rhs) {
			c.values[o] = ast.Unparen(rhs[i])
		}
	}
}
