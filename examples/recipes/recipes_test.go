// Package recipes_test runs the recipes, which are what users copy, and keeps them short.
package recipes_test

import (
	"context"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	most     = 60          // lines of a recipe
	patience = time.Minute // for one that takes seconds
)

// outputs are what the recipes print, by their folders.
var outputs = map[string]string{
	"account": `the other process need not wait for the lease: <nil>
the locks are released: <nil>
1001 deposits; fewer than 100 requests for the first 1000: true
`,
	"degraded": `wasteful if done twice; done: 1 lost: true refused: false
wasteful if done twice; done: 1 lost: false refused: false
harmful if done twice; done: 0 lost: false refused: true
`,
	"fence": `the second takes the lock away: <nil>
and writes: <nil>
the first has not noticed: true
it writes what is stale: true new
its unlock says the loss: true
`,
	"handover": `the form is shown: <nil>
saved: <nil>
sent twice: holdfast: lock "recipe:page" is not held
closed: <nil>
the form is shown: <nil>
saved: holdfast: lock "recipe:page" is not held
sent twice: holdfast: lock "recipe:page" is not held
closed: <nil>
`,
	"hourly": `the first replica is at its full hour:
  the report is sent
one whose clock is late is at its full hour:
`,
	"leader": strings.Repeat("leaders: 1 greater token: true\n", 3),
	"limit":  strings.Repeat("<nil>\n", 8),
	"token":  "the provider is given refresh 1\n" + strings.Repeat("access 2 <nil>\n", 3),
}

// A recipe is one short file that imports nothing internal, and prints what it promises. It runs twice on the same
// server, as on a user's.
func TestRecipes(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	said, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", programs, "./...").CombinedOutput()
	require.NoError(t, err, "%s", said)
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, len(outputs)+1, "each recipe is run, and nothing stands beside them but this test")
	server := redistest.Start(t)
	for name, output := range outputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkSource(t, name)
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				recipe := exec.CommandContext(ctx, filepath.Join(programs, name))
				recipe.Env = append(recipe.Environ(), "REDIS_ADDR="+server.Addr())
				var printed, logged strings.Builder
				recipe.Stdout, recipe.Stderr = &printed, &logged
				require.NoError(t, recipe.Run(), &logged)
				require.Equal(t, output, printed.String(), &logged)
			}
		})
	}
}

func checkSource(t *testing.T, name string) {
	t.Helper()
	files, err := filepath.Glob(name + "/*")
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(name, "main.go")}, files)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), most)
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	require.NoError(t, err)
	for _, spec := range file.Imports {
		assert.NotContains(t, spec.Path.Value, "/internal/")
	}
}
