package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// etcdModule is the module that has no packages of its own: it says which etcd scripts/setup-etcd.sh builds.
const etcdModule = "scripts/etcd/go.mod"

// One of the two commands runs every test in the tree, on its machines: each module is in the workspace, each package is
// in one part, and no build constraint excludes a file from both.
func TestEveryTestIsRunByOneOfTheTwo(t *testing.T) {
	runs := make(map[string]part) // by folder of a package or module
	for _, which := range parts {
		var out strings.Builder
		require.NoError(t, run([]string{"packages", string(which)}, &out))
		for _, name := range strings.Fields(out.String()) {
			folder := strings.TrimPrefix(name, module+"/")
			require.Empty(t, runs[folder], folder)
			runs[folder] = which
		}
	}
	modules, err := exec.Command("go", "list", "-m").Output()
	require.NoError(t, err)
	files := 0
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.Name() == "go.mod" && name != "go.mod" && name != etcdModule:
			assert.Contains(t, strings.Fields(string(modules)), module+"/"+path.Dir(name), "go.work lacks it")
		case strings.HasSuffix(name, "_test.go"):
			files++
			assert.NotEmpty(t, runs[path.Dir(name)], "neither command runs %s", name)
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

// Users pay with the modules that a module needs; what is slow, or needs the code of others, has modules of its own.
func TestThePartsByModule(t *testing.T) {
	for name, want := range map[string]part{
		"": fast, "/pglock": fast, "/etcdlock": fast, "/zklock": fast, "/integration": slow, "/bench": bench,
		"/holdfastvet": bench, "/adapters/gocron": beside,
	} {
		assert.Equal(t, want, partOf(module+name, module+name), name)
	}
	assert.Equal(t, bench, partOf(module+"/integration/model", module+"/integration"), "it computes")
	for _, path := range builders {
		assert.Equal(t, building, partOf(path, module+"/integration"), path)
	}
	require.Error(t, run([]string{"packages", "quick"}, new(strings.Builder)))
	require.Error(t, run(nil, new(strings.Builder)))
}

// What is listed by name is there, and make test runs it.
func TestListedPackagesAreFast(t *testing.T) {
	var all strings.Builder
	require.NoError(t, run([]string{"packages", string(fast)}, &all))
	for which := range listed {
		var out strings.Builder
		require.NoError(t, run([]string{"packages", string(which)}, &out))
		require.NotEmpty(t, out.String())
		require.Subset(t, strings.Fields(all.String()), strings.Fields(out.String()), which)
	}
}
