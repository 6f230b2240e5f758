// Package gofiles walks over the Go files of a tree, for the commands that check them.
package gofiles

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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
func Each(tree fs.FS, see func(f File)) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && ignored(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
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

// ignored reports whether the go command would also skip a directory of this name.
func ignored(dir string) bool {
	return dir == "testdata" || dir == "vendor" || len(dir) > 1 && (dir[0] == '.' || dir[0] == '_')
}
