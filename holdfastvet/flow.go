package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/cfg"
)

// known is what is known of a yes-or-no question.
//
// A hold is followed along the function's control flow: what is true of it at each statement is a state, and where ways
// meet, what is true on all of them. What a check misses that way is not found; a state that said too much would be an
// alarm about correct code.
type known int8

const (
	no known = iota
	perhaps
	yes
)

// state is what is known of a hold at a point of the code.
type state struct {
	held  known  // the lock was acquired
	err   bool   // always: the variable of the error has that of this acquisition
	ctx   bool   // always: the variable of the context has that of this hold
	ended bool   // always: unlock was called
	asked bool   // perhaps: the code has looked at the error, or handed it on
	open  bool   // perhaps: nothing has been done with unlock
	letGo bool   // perhaps: unlock was called, or handed on to what may call it, or the hold is known to have ended
	later bool   // perhaps: a defer unlocks
	old   elders // always: the contexts that are older than the hold
}

// inside reports that the lock is held, whichever way the code came.
func (s state) inside() bool { return s.held == yes && !s.letGo }

// join is what is known where two ways meet.
func (s state) join(t state) state {
	if s.held != t.held {
		s.held = perhaps
	}
	s.err, s.ctx, s.ended = s.err && t.err, s.ctx && t.ctx, s.ended && t.ended
	s.asked, s.open, s.letGo = s.asked || t.asked, s.open || t.open, s.letGo || t.letGo
	s.later = s.later || t.later
	both := make(elders)
	for o := range s.old {
		if t.old[o] {
			both[o] = true
		}
	}
	s.old = both
	return s
}

func (s state) equal(t state) bool {
	return maps.Equal(s.old, t.old) && s.held == t.held && s.err == t.err && s.ctx == t.ctx && s.ended == t.ended &&
		s.asked == t.asked && s.open == t.open && s.letGo == t.letGo && s.later == t.later
}

// flow follows one hold.
type flow struct {
	*check
	*hold
	// visit is called for each statement, with what is true before and after it.
	visit func(n ast.Node, before, after state)
}

// follow goes through a body. The hold begins with the statement that takes it, and where that is none of the body's,
// with the body, in the given state.
func (f *flow) follow(body *ast.BlockStmt, begin state) {
	graph := cfg.New(body, mayReturn)
	blocks := graph.Blocks
	first, rest := blocks[0], blocks[0].Nodes
	starts := make(map[*cfg.Block]state)
	var queue []*cfg.Block
	reach := func(from *cfg.Block, s state) {
		for i, next := range from.Succs {
			t := f.refine(from, i, s)
			if was, ok := starts[next]; ok {
				if t = was.join(t); t.equal(was) {
					continue
				}
			}
			starts[next] = t
			queue = append(queue, next)
		}
	}
	if f.stmt != nil && within(f.stmt.Pos(), body) {
		if first, rest = f.find(blocks); first == nil {
			return // unreachable
		}
	}
	if s, on := f.through(rest, begin, nil); on {
		reach(first, s)
	}
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		if s, on := f.through(b.Nodes, starts[b], nil); on {
			reach(b, s)
		}
	}
	f.through(rest, begin, f.visit)
	for _, b := range blocks {
		if s, ok := starts[b]; ok {
			f.through(b.Nodes, s, f.visit)
		}
	}
}

// find is the block in which the hold begins, and what follows there.
func (f *flow) find(blocks []*cfg.Block) (b *cfg.Block, rest []ast.Node) {
	for _, b := range blocks {
		if i := slices.Index(b.Nodes, f.stmt); b.Live && i >= 0 {
			return b, b.Nodes[i+1:]
		}
	}
	return nil, nil
}

// through goes through the statements of a block; false: it came to the one that takes the lock, with which another
// hold begins.
func (f *flow) through(nodes []ast.Node, s state, visit func(n ast.Node, before, after state)) (state, bool) {
	for _, n := range nodes {
		after := s
		if n != f.stmt {
			after = f.step(n, s)
		}
		if visit != nil {
			visit(n, s, after)
		}
		if n == f.stmt {
			return s, false
		}
		s = after
	}
	return s, true
}

// step is what is true after a statement.
func (f *flow) step(n ast.Node, s state) state {
	_, defers := n.(*ast.DeferStmt)
	if f.handsOn(n) {
		s.open = false
		s.later = s.later || defers
		s.letGo = s.letGo || !defers
		s.asked = s.asked || !defers
	}
	if f.mentions(n, f.hold.err.obj) && !defers {
		s.asked = true
	}
	for call := range calls(n) {
		if f.unlock.obj != nil && f.object(call.Fun) == f.unlock.obj && !conditional(n, call) {
			s.ended = true
		}
		if strings.HasPrefix(nameOf(call), "NoError") && f.mentions(call, f.hold.err.obj) && s.err {
			s.held = yes // as tests say it
		}
	}
	if stmt, ok := n.(ast.Stmt); ok && f.selects[stmt] == nil && f.seesTheEnd(stmt) {
		s.letGo = true
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		s = f.assign(n.Lhs, n.Rhs, s)
	case *ast.ValueSpec:
		s = f.assign(idents(n.Names), n.Values, s)
	}
	return s
}

// handsOn reports that a statement calls unlock, defers it, stores it or passes it on, or ends the hold in
// another way.
func (f *flow) handsOn(n ast.Node) bool {
	if f.mentions(n, f.unlock.obj) {
		return true
	}
	if ret, ok := n.(*ast.ReturnStmt); ok && len(ret.Results) == 0 && f.named(f.unlock.obj) {
		return true
	}
	for call := range calls(n) {
		if name := nameOf(call); (name == "Export" || name == "Break") && ours(f.callee(call)) {
			return true
		}
	}
	return false
}

// named reports that a variable is a named result of the function that took the lock.
func (f *flow) named(o types.Object) bool {
	return o != nil && within(o.Pos(), f.fn) && !within(o.Pos(), f.fn.body)
}

// assign is what is true after an assignment.
func (f *flow) assign(lhs, rhs []ast.Expr, s state) state {
	for i, l := range lhs {
		o := f.object(pointed(l))
		if o == nil {
			continue
		}
		s.err = s.err && o != f.hold.err.obj
		s.ctx = s.ctx && o != f.hold.ctx.obj
		older := i < len(rhs) && f.older(pointed(rhs[i]), s.old) != ""
		if older != s.old[o] {
			s.old = maps.Clone(s.old)
			s.old[o] = true
			if !older {
				delete(s.old, o)
			}
		}
	}
	return s
}

// pointed is the pointer of what one points to, as in *r = *r.WithContext(ctx), and any other expression itself.
func pointed(e ast.Expr) ast.Expr {
	if star, ok := e.(*ast.StarExpr); ok {
		return star.X
	}
	return e
}

func idents(names []*ast.Ident) []ast.Expr {
	exprs := make([]ast.Expr, len(names))
	for i, name := range names {
		exprs[i] = name
	}
	return exprs
}

// mayReturn reports that a function may return. Names tell, and not facts about other packages, which would have the
// analyzer read everything that a program imports. A function that is wrongly taken to return only makes ways meet that
// do not.
func mayReturn(call *ast.CallExpr) bool { return !slices.Contains(final, nameOf(call)) }

// The names of functions that do not return, of the standard library, of tests and of loggers.
var final = []string{
	"panic", "Exit", "Goexit", "Fatal", "Fatalf", "Fatalln", "FailNow", "Skip", "Skipf", "SkipNow",
	"Panic", "Panicf", "Panicln",
}

// conditional reports that a call in a statement is made only if a condition before it in the same expression allows.
func conditional(n ast.Node, call *ast.CallExpr) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(*ast.BinaryExpr)
		found = found || ok && (e.Op == token.LAND || e.Op == token.LOR) && within(call.Pos(), e.Y)
		return !found
	})
	return found
}
