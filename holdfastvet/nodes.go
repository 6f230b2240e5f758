package holdfastvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
)

// anywhere are the nodes of a kind in a node.
func anywhere[T ast.Node](node ast.Node) iter.Seq[T] {
	return nodes[T](node, func(ast.Node) bool { return true })
}

// here are those in what a node does here and now: not in what it starts, defers or leaves to functions that somebody
// else calls.
func here[T ast.Node](node ast.Node) iter.Seq[T] {
	return nodes[T](node, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.GoStmt, *ast.DeferStmt, *ast.FuncLit:
			return false
		}
		return true
	})
}

func nodes[T ast.Node](node ast.Node, into func(ast.Node) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		on := true
		ast.Inspect(node, func(n ast.Node) bool {
			if n == nil || !on || !into(n) {
				return false
			}
			if t, ok := n.(T); ok {
				on = yield(t)
			}
			return on
		})
	}
}

// calls are those that a node makes here and now.
func calls(node ast.Node) iter.Seq[*ast.CallExpr] { return here[*ast.CallExpr](node) }

// mentions reports that a node names a variable.
func (c *check) mentions(node ast.Node, o types.Object) bool {
	for id := range anywhere[*ast.Ident](node) {
		if o != nil && c.TypesInfo.Uses[id] == o {
			return true
		}
	}
	return false
}

func within(pos token.Pos, n ast.Node) bool { return n.Pos() <= pos && pos < n.End() }
