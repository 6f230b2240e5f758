package holdfastvet

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A hold's region is what comes after the statement that takes the lock, as far as the lock is held there whichever way
// the code came: branches in which the error was not nil are left out, and where a branch of that kind may be gone
// through, the region ends. What is left out by mistake is not found; what is looked at by mistake would be an alarm
// about correct code.

// after looks at the region of a hold.
func (s *scan) after(t *taking) {
	child := ast.Node(t.stmt)
	for i := len(t.stack) - 2; i >= 0; i-- {
		parent := t.stack[i]
		switch p := parent.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return
		case *ast.IfStmt:
			if p.Init == child && !s.branch(p) {
				return
			}
		}
		if rest, ok := following(parent, child); ok && (!s.statements(rest) || ends(rest)) {
			return
		}
		child = parent
	}
}

// following is the statements of a list that come after one; false: the parent is no list.
func following(parent, child ast.Node) ([]ast.Stmt, bool) {
	var list []ast.Stmt
	switch p := parent.(type) {
	case *ast.BlockStmt:
		list = p.List
	case *ast.CaseClause:
		list = p.Body
	case *ast.CommClause:
		list = p.Body
	default:
		return nil, false
	}
	at := slices.IndexFunc(list, func(s ast.Stmt) bool { return s == child })
	if at < 0 {
		return nil, false
	}
	return list[at+1:], true
}

// statements looks at a list; it reports false if the lock might not be held after it.
func (s *scan) statements(list []ast.Stmt) bool {
	for _, stmt := range list {
		switch stmt := stmt.(type) {
		case *ast.IfStmt:
			if stmt.Init != nil && s.mentionsErr(stmt.Init) {
				return false
			}
			if s.mentionsErr(stmt.Cond) {
				if !s.branch(stmt) {
					return false
				}
				if s.compares(stmt.Cond, token.NEQ) {
					s.err = nil // from here on the lock is held, whatever becomes of the variable
				}
				continue
			}
		case *ast.ExprStmt:
			if s.mentionsErr(stmt) {
				if call, ok := stmt.X.(*ast.CallExpr); !ok || !strings.HasPrefix(nameOf(call), "NoError") {
					return false // it may require an error
				}
				s.err = nil
			}
		}
		s.in(stmt)
	}
	return true
}

// branch looks at a statement that asks for the lock's error. It reports whether the lock is held wherever the code
// goes on after it.
func (s *scan) branch(b *ast.IfStmt) (goesOn bool) {
	if s.compares(b.Cond, token.EQL) {
		s.statements(b.Body.List)
		other, _ := b.Else.(*ast.BlockStmt)
		return other != nil && ends(other.List)
	}
	switch other := b.Else.(type) {
	case *ast.BlockStmt:
		s.statements(other.List)
	case *ast.IfStmt:
		return false
	}
	return ends(b.Body.List)
}

// compares reports that a condition is the comparison of the lock's error with nil.
func (s *scan) compares(cond ast.Expr, op token.Token) bool {
	asks, ok := cond.(*ast.BinaryExpr)
	return ok && asks.Op == op && s.object(asks.X) == s.err && s.TypesInfo.Types[asks.Y].IsNil()
}

// mentionsErr reports that an expression asks for the lock's error.
func (s *scan) mentionsErr(e ast.Node) bool { return e != nil && s.err != nil && s.mentions(e, s.err) }

// ends reports that the code does not go on after a list of statements.
func ends(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		return ok && slices.Contains(final, nameOf(call))
	case *ast.BlockStmt:
		return ends(last.List)
	}
	return false
}

// The names of functions that do not return, of the standard library, of tests and of loggers.
var final = []string{"panic", "Exit", "Goexit", "Fatal", "Fatalf", "Fatalln", "FailNow", "Skip", "Skipf", "SkipNow"}

// nameOf is the name of the function that a call is of, without its package or receiver.
func nameOf(call *ast.CallExpr) string {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
}
