package rlock_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Package rlock repeats every exported name of package lock, as the same type, value or function, so that a program
// that locks in Redis imports no other package, and what an Observer is told compares with what List tells (defect
// F26: rlock.Kind was a type of its own, and a dozen names were missing). It has no names of what no lock in Redis has.
func TestEveryNameOfLockIsRepeated(t *testing.T) {
	names, repeated := declarations(t, "../lock"), repetitions(t, ".")
	require.Greater(t, len(names), 50, "these cannot be all names of package lock")
	for _, other := range []string{
		"Store",                           // rlock.Store is the value of that type for Redis
		"Transaction", "TransactionError", // of PostgreSQL
	} {
		require.Contains(t, names, other)
		require.False(t, repeated[other], other)
		delete(names, other)
	}
	for name := range names {
		assert.True(t, repeated[name], "rlock does not repeat lock.%s, or has something else of that name", name)
	}
}

// repetitions are the names that a package declares as those of package lock: as an alias, with the same value, or by
// a function that calls the one of that name.
func repetitions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for name, declared := range declarations(t, dir) {
		ast.Inspect(declared, func(n ast.Node) bool {
			if of, ok := n.(*ast.SelectorExpr); ok && of.Sel.Name == name {
				pkg, ok := of.X.(*ast.Ident)
				if ok && pkg.Name == "lock" {
					found[name] = true
				}
			}
			return true
		})
	}
	return found
}

// declarations are the exported names of a package, each with what it is declared as. Methods and fields are none.
func declarations(t *testing.T, dir string) map[string]ast.Node {
	t.Helper()
	pkg, err := build.ImportDir(dir, 0)
	require.NoError(t, err)
	declared := make(map[string]ast.Node)
	add := func(name *ast.Ident, as ast.Node) {
		if name.IsExported() && as != nil {
			declared[name.Name] = as
		}
	}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name, d.Body)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					addSpec(spec, add)
				}
			}
		}
	}
	return declared
}

func addSpec(spec ast.Spec, add func(name *ast.Ident, as ast.Node)) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Assign.IsValid() {
			add(s.Name, s.Type)
		} else {
			add(s.Name, &ast.BadExpr{}) // no alias: whatever it is made of, it is another type
		}
	case *ast.ValueSpec:
		for i, name := range s.Names {
			if i < len(s.Values) {
				add(name, s.Values[i])
			} else {
				add(name, &ast.BadExpr{}) // it repeats the line before, as with iota
			}
		}
	}
}
