package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An example compiles when it is pasted: what a page of pkg.go.dev shows of it is a whole program, which uses nothing
// that stands in another file or that only a test has.
func TestExamplesCompileWhenPasted(t *testing.T) {
	files, err := filepath.Glob("../*/example*_test.go")
	require.NoError(t, err)
	for _, group := range []string{"adapters", "observe"} {
		more, err := filepath.Glob("../" + group + "/*/example*_test.go")
		require.NoError(t, err)
		require.NotEmpty(t, more, group)
		files = append(files, more...)
	}
	require.Greater(t, len(files), 10)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, example := range doc.Examples(file) {
			if !assert.NotNil(t, example.Play, "%s: Example%s is no program of its own", name, example.Name) {
				continue
			}
			for _, path := range imports(example.Play) {
				assert.NotContains(t, path, "/internal/", "%s: Example%s", name, example.Name)
			}
		}
	}
}

func imports(file *ast.File) (paths []string) {
	for _, spec := range file.Imports {
		paths = append(paths, spec.Path.Value)
	}
	return paths
}
