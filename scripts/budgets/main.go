// Command budgets checks what our linters cannot: the length of files and functions, and that every package has a
// comment. It reads the tree below the working directory, prints one line per breach and exits with 1 if there is one.
// Tests may be long.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/gofiles"
)

const (
	maxFileLines = 500
	maxFuncLines = 60
	maxColumns   = 120 // a tab is 4
)

func main() {
	breaches, err := check(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
	for _, breach := range breaches {
		fmt.Fprintln(os.Stderr, breach)
	}
	if len(breaches) > 0 {
		os.Exit(1)
	}
}

// check returns the breaches in all Go files of tree that are part of some package.
func check(tree fs.FS) ([]string, error) {
	var breaches []string
	packages := packageComments{}
	err := gofiles.Each(tree, func(f gofiles.File) {
		breaches = append(breaches, checkLengths(f.Set, f.File, f.Source)...)
		packages.add(path.Dir(f.Name), f.File)
	})
	return slices.Concat(breaches, packages.missing()), err
}

// checkWidths returns the lines of one file that are too wide for two files side by side on a screen.
func checkWidths(name string, source []byte) (breaches []string) {
	number := 0
	for line := range bytes.Lines(source) {
		number++
		text := strings.ReplaceAll(strings.TrimSuffix(string(line), "\n"), "\t", "    ")
		if columns := utf8.RuneCountInString(text); columns > maxColumns {
			breaches = append(breaches, fmt.Sprintf("%s:%d: %d columns, more than %d",
				name, number, columns, maxColumns))
		}
	}
	return breaches
}

// checkLengths returns the breaches in one file. A function counts from its first line to its closing brace, without
// its comment: an argument for safety is never too long.
func checkLengths(fset *token.FileSet, file *ast.File, source []byte) []string {
	breaches := checkWidths(fset.Position(file.Pos()).Filename, source)
	if lines := bytes.Count(source, []byte("\n")); lines > maxFileLines {
		breaches = append(breaches, fmt.Sprintf("%s: %d lines, more than %d",
			fset.Position(file.Package).Filename, lines, maxFileLines))
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		start, end := fset.Position(fn.Pos()), fset.Position(fn.End())
		if lines := end.Line - start.Line + 1; lines > maxFuncLines {
			breaches = append(breaches, fmt.Sprintf("%s:%d: %s has %d lines, more than %d",
				start.Filename, start.Line, fn.Name.Name, lines, maxFuncLines))
		}
	}
	return breaches
}

// packageComments records the packages seen, in order, and which of them have a package comment.
type packageComments struct {
	dirs []string
	has  map[string]bool
}

func (p *packageComments) add(dir string, file *ast.File) {
	if p.has == nil {
		p.has = map[string]bool{}
	}
	if _, seen := p.has[dir]; !seen {
		p.dirs = append(p.dirs, dir)
	}
	text := file.Doc.Text()
	p.has[dir] = p.has[dir] ||
		strings.HasPrefix(text, "Package "+file.Name.Name+" ") ||
		file.Name.Name == "main" && strings.HasPrefix(text, "Command ")
}

func (p *packageComments) missing() []string {
	var breaches []string
	for _, dir := range p.dirs {
		if !p.has[dir] {
			breaches = append(breaches, dir+": no comment that begins with \"Package\" (or \"Command\")")
		}
	}
	return breaches
}
