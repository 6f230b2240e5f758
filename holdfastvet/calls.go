package holdfastvet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

const module = "github.com/holdfast-go/holdfast"

// The methods that return a hold. A lock is told by what it returns: so an application's interface or wrapper is one.
var methods = []string{"Lock", "TryLock", "Acquire", "TryAcquire", "Import", "Campaign"}

// takes is the call of a method that returns a hold, and its name; nil: the expression is something else.
func (c *check) takes(e ast.Expr) (call *ast.CallExpr, method string) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, ""
	}
	fn, ok := c.callee(call).(*types.Func)
	if !ok || !returnsHold(fn) {
		return nil, ""
	}
	return call, fn.Name()
}

// returnsHold reports that a function is a method that returns a hold:
// func(ctx, …) (context.Context, func() error, error).
func returnsHold(fn *types.Func) bool {
	sig := fn.Signature()
	return slices.Contains(methods, fn.Name()) && sig.Recv() != nil &&
		sig.Params().Len() > 0 && isContext(sig.Params().At(0).Type()) &&
		sig.Results().Len() == 3 && isContext(sig.Results().At(0).Type()) &&
		types.Identical(sig.Results().At(1).Type().Underlying(), unlockType) && isError(sig.Results().At(2).Type())
}

var unlockType = types.NewSignatureType(nil, nil, nil, nil,
	types.NewTuple(types.NewParam(0, nil, "", types.Universe.Lookup("error").Type())), false)

// runs is the name of a method that a call is of, if that calls a function in a hold: the Do of a type that has a
// method which returns a hold, or the Run of an election.
func (c *check) runs(call *ast.CallExpr) (method string, does bool) {
	fn, ok := c.callee(call).(*types.Func)
	if !ok || len(call.Args) < 2 || fn.Name() != "Do" && fn.Name() != "Run" || fn.Signature().Recv() == nil {
		return "", false
	}
	for other := range types.NewMethodSet(fn.Signature().Recv().Type()).Methods() {
		other, ok := other.Obj().(*types.Func)
		if ok && returnsHold(other) && (fn.Name() == "Run") == (other.Name() == "Campaign") {
			return fn.Name(), true
		}
	}
	return "", false
}

func isContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isNamed(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && pathOf(named.Obj()) == path
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// fails reports that a function's last result is an error.
func fails(t types.Type) bool {
	sig, ok := t.Underlying().(*types.Signature)
	return ok && sig.Results().Len() > 0 && isError(sig.Results().At(sig.Results().Len()-1).Type())
}

// ours reports that an object is of this module.
func ours(o types.Object) bool {
	path := pathOf(o)
	return path == module || strings.HasPrefix(path, module+"/")
}

// pathOf is the path of the package that an object is of; "": of none.
func pathOf(o types.Object) string {
	if o == nil || o.Pkg() == nil {
		return ""
	}
	return o.Pkg().Path()
}

func (c *check) callee(call *ast.CallExpr) types.Object { return typeutil.Callee(c.TypesInfo, call) }

// harmless reports that a call may be given any context inside a hold, and after it: it derives another one, reads a
// value, logs, traces, or asks what is true of a lock, held by any caller.
func (c *check) harmless(call *ast.CallExpr) bool {
	fn, ok := c.callee(call).(*types.Func)
	if !ok {
		return false
	}
	switch path := pathOf(fn); {
	case path == "context" || path == "log/slog" || strings.HasPrefix(path, "go.opentelemetry.io/otel"):
		return true
	case ours(fn):
		return fn.Name() == "WithoutHolds" || fn.Name() == "Inspect" || fn.Name() == "Break"
	}
	return !fails(fn.Type()) && (strings.HasSuffix(fn.Name(), "FromContext") || logs(fn))
}

// logs reports that a function logs, as far as its name and that of what it is of tell.
func logs(fn *types.Func) bool {
	in := pathOf(fn)
	if recv := fn.Signature().Recv(); recv != nil {
		in += "." + recv.Type().String()
	}
	return strings.Contains(strings.ToLower(in+"."+fn.Name()), "log")
}

// nameOf is the name of the function that a call is of, without its package or receiver.
func nameOf(call *ast.CallExpr) string {
	switch fn := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
}
