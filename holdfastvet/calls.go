package holdfastvet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

const module = "github.com/holdfast-go/holdfast"

// taking is a statement that takes a lock and keeps what it returns.
type taking struct {
	stmt              *ast.AssignStmt
	call              *ast.CallExpr
	method            string
	stack             []ast.Node   // from the file to the statement
	held, unlock, err types.Object // nil: the blank identifier, or no variable
}

// The methods that return a hold. A lock is told by what it returns: so an application's interface or wrapper is one.
var methods = map[string]bool{"Lock": true, "TryLock": true, "Acquire": true, "TryAcquire": true, "Import": true}

// taking returns what a statement takes; nil: no lock.
func (c *check) taking(a *ast.AssignStmt, stack []ast.Node) *taking {
	if len(a.Rhs) != 1 || len(a.Lhs) != 3 {
		return nil
	}
	call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
	if !ok {
		return nil
	}
	fn, ok := c.callee(call).(*types.Func)
	if !ok || !takes(fn) {
		return nil
	}
	return &taking{
		stmt: a, call: call, method: fn.Name(), stack: append([]ast.Node(nil), stack...),
		held: c.object(a.Lhs[0]), unlock: c.object(a.Lhs[1]), err: c.object(a.Lhs[2]),
	}
}

// takes reports that a function is a method that returns a hold: func(ctx, …) (context.Context, func() error, error).
func takes(fn *types.Func) bool {
	sig := fn.Signature()
	return methods[fn.Name()] && sig.Recv() != nil && sig.Params().Len() > 0 && isContext(sig.Params().At(0).Type()) &&
		sig.Results().Len() == 3 && isContext(sig.Results().At(0).Type()) &&
		types.Identical(sig.Results().At(1).Type().Underlying(), unlockType) && isError(sig.Results().At(2).Type())
}

var unlockType = types.NewSignatureType(nil, nil, nil, nil,
	types.NewTuple(types.NewParam(0, nil, "", types.Universe.Lookup("error").Type())), false)

func isContext(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Context" && pathOf(named.Obj()) == "context"
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// pathOf is the path of the package that an object is of; "": of none.
func pathOf(o types.Object) string {
	if o == nil || o.Pkg() == nil {
		return ""
	}
	return o.Pkg().Path()
}

func (c *check) callee(call *ast.CallExpr) types.Object { return typeutil.Callee(c.TypesInfo, call) }

// runs reports that a call is the Do of a lock: of this module, or of a type that has a method which returns a hold.
func (c *check) runs(call *ast.CallExpr) bool {
	fn, ok := c.callee(call).(*types.Func)
	if !ok || fn.Name() != "Do" || fn.Signature().Recv() == nil {
		return false
	}
	if path := pathOf(fn); path == module || strings.HasPrefix(path, module+"/") {
		return true
	}
	all := types.NewMethodSet(fn.Signature().Recv().Type())
	for method := range all.Methods() {
		if other, ok := method.Obj().(*types.Func); ok && takes(other) {
			return true
		}
	}
	return false
}

// harmless reports that a call may be given an older context inside a hold: it derives another one, logs, or asks what
// is true of a lock, whoever has it.
func (c *check) harmless(call *ast.CallExpr) bool {
	fn, ok := c.callee(call).(*types.Func)
	if !ok {
		return false
	}
	switch path := pathOf(fn); {
	case path == "context" || path == "log/slog":
		return true
	case strings.HasPrefix(path, module+"/"):
		return fn.Name() == "WithoutHolds" || fn.Name() == "Inspect" || fn.Name() == "Break"
	}
	return false
}
