package rlock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Defect D2: a deferred call that assigns to an error which is not the function's result changes nothing, so that
// the loss which unlock tells is returned as nil. Neither the pages, which people copy, nor any program of ours
// does that. ExampleLock_Lock runs what the guide shows.
func TestWhatADeferredUnlockSaysIsReturned(t *testing.T) {
	sources := make(map[string]string)
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	shown := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			source := block[1]
			if !strings.HasPrefix(source, "package ") {
				source = "package page\n" + source
			}
			if strings.Contains(source, "unlock, err :=") {
				shown++
			}
			sources[page+": "+source] = source
		}
	}
	require.Positive(t, shown)
	for _, pattern := range []string{"../*/*.go", "../examples/*/*.go", "../examples/*/*/*.go", "../integration/*/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			sources[name] = string(source)
		}
	}
	require.Greater(t, len(sources), 300)
	for name, source := range sources {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
		if !assert.NoError(t, err, "no whole function: %s", name) {
			continue
		}
		for _, at := range unreturned(file) {
			t.Errorf("%s: line %d: what unlock says is returned to nobody", name, fset.Position(at).Line)
		}
	}
}

// A reader who looks for a test that hangs finds the line of the log in the guide, word for word.
func TestTheGuideQuotesTheWarningOfASelfDeadlock(t *testing.T) {
	guide, err := os.ReadFile("../docs/guide.md")
	require.NoError(t, err)
	require.Contains(t, string(guide), misuseText)
}

// unreturned finds deferred functions that assign what unlock returns to something that is no result of the
// function that they are deferred in.
func unreturned(file *ast.File) (found []token.Pos) {
	var visit func(node ast.Node, results map[string]bool)
	visit = func(node ast.Node, results map[string]bool) {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					visit(n.Body, resultNames(n.Type))
				}
				return false
			case *ast.FuncLit:
				visit(n.Body, resultNames(n.Type))
				return false
			case *ast.DeferStmt:
				if fn, is := n.Call.Fun.(*ast.FuncLit); is {
					found = append(found, strayUnlocks(fn, results)...)
				}
			}
			return true
		})
	}
	visit(file, nil)
	return found
}

func resultNames(fn *ast.FuncType) map[string]bool {
	names := make(map[string]bool)
	if fn.Results != nil {
		for _, field := range fn.Results.List {
			for _, name := range field.Names {
				names[name.Name] = true
			}
		}
	}
	return names
}

// strayUnlocks finds assignments in a deferred function, of what a call of unlock returns, to what is no result.
func strayUnlocks(fn *ast.FuncLit, results map[string]bool) (found []token.Pos) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		assign, is := n.(*ast.AssignStmt)
		if !is || assign.Tok != token.ASSIGN || !callsUnlock(assign) {
			return true
		}
		for _, to := range assign.Lhs {
			if name, is := to.(*ast.Ident); is && name.Name != "_" && !results[name.Name] {
				found = append(found, assign.Pos())
			}
		}
		return true
	})
	return found
}

func callsUnlock(assign *ast.AssignStmt) (calls bool) {
	ast.Inspect(assign, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is {
			if name, is := call.Fun.(*ast.Ident); is && strings.HasPrefix(name.Name, "unlock") {
				calls = true
			}
		}
		return true
	})
	return calls
}
