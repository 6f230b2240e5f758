package holdfastvet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer finds misuse of locks that compiles. The package's documentation lists what it finds.
var Analyzer = &analysis.Analyzer{
	Name:     "holdfast",
	Doc:      "find misuse of holdfast locks: older contexts, dropped errors of unlock, unchecked TryLock",
	URL:      "https://pkg.go.dev/github.com/holdfast-go/holdfast/holdfastvet",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      run,
}

var tests bool

func init() {
	Analyzer.Flags.BoolVar(&tests, "tests", false, "look for everything in tests too, not only for what defer loses")
}

func run(pass *analysis.Pass) (any, error) {
	c := &check{
		Pass: pass, unlocks: make(map[types.Object]bool), parents: make(map[types.Object]types.Object),
	}
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	var taken []*taking
	in.WithStack([]ast.Node{(*ast.AssignStmt)(nil)}, func(n ast.Node, push bool, stack []ast.Node) bool {
		if push {
			c.derives(n.(*ast.AssignStmt))
			if t := c.taking(n.(*ast.AssignStmt), stack); t != nil {
				taken = append(taken, t)
				if t.unlock != nil {
					c.unlocks[t.unlock] = true
				}
			}
		}
		return true
	})
	for _, t := range taken {
		c.errorOf(t)
		c.olderThan(t)
	}
	in.WithStack([]ast.Node{(*ast.DeferStmt)(nil), (*ast.CallExpr)(nil)},
		func(n ast.Node, push bool, stack []ast.Node) bool {
			switch n := n.(type) {
			case *ast.DeferStmt:
				if push {
					c.deferred(n, enclosing(stack))
				}
			case *ast.CallExpr:
				if push {
					c.closureOf(n)
				}
			}
			return true
		})
	return nil, nil
}

// check is one run on one package.
type check struct {
	*analysis.Pass
	unlocks map[types.Object]bool         // the variables that hold what unlocks
	parents map[types.Object]types.Object // of contexts made by package context: what each was made from
}

// derives notes a context that is made from another one.
func (c *check) derives(a *ast.AssignStmt) {
	if len(a.Rhs) != 1 {
		return
	}
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok || len(call.Args) == 0 || pathOf(c.callee(call)) != "context" {
		return
	}
	made, from := c.object(a.Lhs[0]), c.object(call.Args[0])
	if made != nil && from != nil && made != from {
		c.parents[made] = from
	}
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

// inTest reports that a node is in a test, which takes locks as a stranger does, and expects errors.
func (c *check) inTest(n ast.Node) bool {
	return !tests && strings.HasSuffix(c.Fset.Position(n.Pos()).Filename, "_test.go")
}

// enclosing is the innermost function around a node: its type and its body.
func enclosing(stack []ast.Node) *ast.BlockStmt {
	for i := len(stack) - 2; i >= 0; i-- {
		switch fn := stack[i].(type) {
		case *ast.FuncDecl:
			return fn.Body
		case *ast.FuncLit:
			return fn.Body
		}
	}
	return nil
}
