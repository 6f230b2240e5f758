package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer finds misuse of locks that compiles. The package's documentation lists what it finds.
var Analyzer = &analysis.Analyzer{
	Name:     "holdfast",
	Doc:      "find misuse of holdfast locks: missing unlocks, contexts of another time, errors that nobody looks at",
	URL:      "https://pkg.go.dev/github.com/holdfast-go/holdfast/holdfastvet",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      run,
}

var tests bool

func init() {
	Analyzer.Flags.BoolVar(&tests, "tests", false, "look for everything in tests too, not only for what defer loses")
}

func run(pass *analysis.Pass) (any, error) {
	c := &check{Pass: pass, unlocks: make(map[types.Object]bool), told: make(map[finding]bool)}
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	c.findHolds(in)
	if len(c.holds) == 0 {
		return nil, nil
	}
	c.survey(in)
	for _, h := range c.holds {
		c.examine(h)
	}
	for cur := range in.Root().Preorder((*ast.DeferStmt)(nil), (*ast.ExprStmt)(nil), (*ast.GoStmt)(nil)) {
		c.dropped(cur)
		if d, ok := cur.Node().(*ast.DeferStmt); ok {
			c.deferred(d, enclosing(cur).body)
		}
	}
	return nil, nil
}

// check is one run on one package.
type check struct {
	*analysis.Pass
	holds   []*hold
	unlocks map[types.Object]bool // the variables and fields that hold what unlocks
	told    map[finding]bool

	// What survey finds, in a package that has a hold.
	parents map[types.Object]types.Object // of contexts: what each was made from
	selects map[ast.Stmt]*ast.SelectStmt  // of what a case waits for
	bodies  map[*types.Func]*ast.BlockStmt
	singles map[*types.Func]bool      // of those: whether they do one piece of work
	values  map[types.Object]ast.Expr // of variables: what each is defined as
	changed map[types.Object]bool     // of those: which are assigned again, or may be through their address
	limits  limits                    // which options the package names with which holds end by themselves
}

// finding is what was reported, so that nothing is reported twice.
type finding struct {
	at     token.Pos
	format string
}

// findHolds finds the places that take locks.
func (c *check) findHolds(in *inspector.Inspector) {
	for cur := range in.Root().Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.CallExpr)(nil),
		(*ast.ExprStmt)(nil), (*ast.GoStmt)(nil), (*ast.DeferStmt)(nil)) {
		var h *hold
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			h = c.byHand(cur, n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			h = c.byHand(cur, idents(n.Names), n.Values)
		case *ast.CallExpr:
			h = c.byDo(n)
		default:
			c.allThrownAway(n)
			c.droppedByDo(n)
		}
		if h != nil {
			c.holds = append(c.holds, h)
			c.unlocks[c.variable(h.unlock.expr)] = true
		}
	}
	delete(c.unlocks, nil)
}

// survey collects what the checks of a package's holds ask for.
func (c *check) survey(in *inspector.Inspector) {
	c.parents = make(map[types.Object]types.Object)
	c.selects = make(map[ast.Stmt]*ast.SelectStmt)
	c.bodies = make(map[*types.Func]*ast.BlockStmt)
	c.singles = make(map[*types.Func]bool)
	c.values = make(map[types.Object]ast.Expr)
	c.changed = make(map[types.Object]bool)
	c.limits = c.namedLimits()
	nodes := []ast.Node{(*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.UnaryExpr)(nil), (*ast.SelectStmt)(nil),
		(*ast.FuncDecl)(nil)}
	in.Preorder(nodes, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			c.derives(n.Lhs, n.Rhs)
			c.defines(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			c.derives(idents(n.Names), n.Values)
			c.defines(idents(n.Names), n.Values)
		case *ast.UnaryExpr:
			if o := c.object(n.X); n.Op == token.AND && o != nil {
				c.changed[o] = true
			}
		case *ast.SelectStmt:
			for _, clause := range n.Body.List {
				c.selects[clause.(*ast.CommClause).Comm] = n
			}
		case *ast.FuncDecl:
			if fn, ok := c.TypesInfo.Defs[n.Name].(*types.Func); ok && n.Body != nil {
				c.bodies[fn] = n.Body
			}
		}
	})
}

// examine follows one hold, and has each check look at it.
func (c *check) examine(h *hold) {
	if c.inTest(h.call) {
		return
	}
	c.errorThrownAway(h)
	stays := c.mayStay(h)
	f := &flow{check: c, hold: h}
	f.visit = func(n ast.Node, before, after state) {
		if !stays {
			f.neverUnlocked(n, after)
		}
		if n == h.stmt {
			f.everyTurn(before)
			return
		}
		f.unchecked(n, before, after)
		f.tooOld(n, before)
		f.again(n, before)
		f.idleLease(n, before)
		f.refused(n, before)
		f.upgrades(n, before)
		f.cutOff(n, before)
		f.afterUnlock(n, before)
	}
	f.follow(h.fn.body, c.begin(h))
	f.afterUnlockInside()
}

// inTest reports that a node is in a test or in a file of helpers for tests, which take locks as strangers do, and
// expect errors.
func (c *check) inTest(n ast.Node) bool {
	if tests {
		return false
	}
	for _, file := range c.Files {
		if file.FileStart <= n.Pos() && n.Pos() < file.FileEnd {
			return strings.HasSuffix(c.Fset.Position(n.Pos()).Filename, "_test.go") ||
				slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
		}
	}
	return false
}

// report reports one thing at one place once, however many ways lead there.
func (c *check) report(at token.Pos, format string, args ...any) { c.reportOf(at, at, format, args...) }

// reportOf reports one thing of what stands at one place once, at the first place where it shows.
func (c *check) reportOf(of, at token.Pos, format string, args ...any) {
	if f := (finding{of, format}); !c.told[f] {
		c.told[f] = true
		c.Reportf(at, format, args...)
	}
}
