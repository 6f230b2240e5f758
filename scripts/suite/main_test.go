package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// One of the two commands runs every test in the tree, on its machines: each module is listed here, each package is
// in one half, and no build constraint excludes a file from both.
func TestEveryTestIsRunByOneOfTheTwo(t *testing.T) {
	runs := make(map[string]half) // by folder of a package or module
	for _, which := range []half{fast, slow} {
		var out strings.Builder
		require.NoError(t, run([]string{"packages", string(which)}, &out))
		for _, name := range strings.Fields(out.String()) {
			folder := strings.TrimPrefix(name, module+"/")
			require.Empty(t, runs[folder], folder)
			runs[folder] = which
		}
	}
	others := slices.Concat(slices.Collect(maps.Values(beside))...)
	files := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.Name() == "go.mod" && name != "go.mod":
			assert.Contains(t, others, path.Dir(name), "a module that neither command knows")
		case strings.HasSuffix(name, "_test.go"):
			files++
			if !slices.ContainsFunc(others, func(m string) bool { return strings.HasPrefix(name, m+"/") }) {
				assert.NotEmpty(t, runs[path.Dir(name)], "neither command runs %s", name)
			}
			assert.True(t, builds(t, name), "a build constraint keeps %s out of both commands", name)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 250, "these cannot be all tests")
}

// builds reports whether a file has no tests, or is built on Linux without any tag.
func builds(t *testing.T, name string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ParseComments)
	require.NoError(t, err)
	if !slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
		fn, is := decl.(*ast.FuncDecl)
		return is && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test")
	}) {
		return true
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if !constraint.IsGoBuild(comment.Text) {
				continue
			}
			expr, err := constraint.Parse(comment.Text)
			require.NoError(t, err, name)
			if !expr.Eval(func(tag string) bool { return tag == "linux" || tag == "unix" || tag == "race" }) {
				return false
			}
		}
	}
	return true
}

// The names of the halves are the commands' arguments.
func TestTheHalvesByName(t *testing.T) {
	for folder, want := range map[string]half{
		"rlock": fast, "scripts/suite": fast, "integration": slow, "integration/history": slow,
		"internal/integrations": fast,
	} {
		assert.Equal(t, want, halfOf(folder), folder)
	}
	require.Error(t, run([]string{"packages", "quick"}, new(strings.Builder)))
	require.Error(t, run([]string{"modules", "quick"}, new(strings.Builder)))
	require.Error(t, run(nil, new(strings.Builder)))
}
