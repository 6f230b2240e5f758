// Package gofiles walks over the Go files of a tree, for the commands and tests that check them.
package gofiles

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// File is a Go file that was read.
type File struct {
	*ast.File
	Name   string // its path in the tree
	Set    *token.FileSet
	Source []byte
}

// Each calls see with each Go file of tree that is part of some package, except tests.
func Each(tree fs.FS, see func(f File)) error { return each(tree, false, see) }

// EachTest calls see with each file of tests.
func EachTest(tree fs.FS, see func(f File)) error { return each(tree, true, see) }

func each(tree fs.FS, tests bool, see func(f File)) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && ignored(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") != tests:
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		see(File{File: file, Name: name, Set: set, Source: source})
		return nil
	})
}

// Tests are the tests in the file, by the folder and the name: "rlock TestKeep".
func (f File) Tests() map[string]*ast.FuncDecl {
	all := make(map[string]*ast.FuncDecl)
	for _, decl := range f.Decls {
		if fn, is := decl.(*ast.FuncDecl); is && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
			all[path.Dir(f.Name)+" "+fn.Name.Name] = fn
		}
	}
	return all
}

// ignored reports whether the go command would also skip a directory of this name.
func ignored(dir string) bool {
	return dir == "testdata" || dir == "vendor" || len(dir) > 1 && (dir[0] == '.' || dir[0] == '_')
}
