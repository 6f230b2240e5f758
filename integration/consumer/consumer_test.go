package consumer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The modules that a program with locks consists of. Each is a promise: scanners of dependencies report on it.
var linked = []string{
	holdfast,
	"github.com/cespare/xxhash/v2",
	"github.com/google/uuid",
	"github.com/redis/go-redis/v9",
	"go.uber.org/atomic",
	"golang.org/x/sync",
	"golang.org/x/sys",
}

// most is how many modules a user of the locks may have in go list -m all, the own one included: beside those that are
// linked there are what go-redis tests itself with, and what we do.
const most = 17

// packages are those of a module that others can import, and its commands.
func packages(t *testing.T, module string) (libraries, commands []string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if .GoFiles}}{{.Name}}={{.ImportPath}}{{end}}", "./...")
	list.Dir = published.modules[module]
	lines, err := list.Output()
	require.NoError(t, err)
	for line := range strings.FieldsSeq(string(lines)) {
		name, path, _ := strings.Cut(line, "=")
		inside := strings.TrimPrefix(path, module)
		switch {
		case strings.Contains(inside+"/", "/internal/"):
		case name != "main":
			libraries = append(libraries, path)
		case !strings.HasPrefix(inside, "/examples/") && !strings.HasPrefix(inside, "/scripts/"):
			commands = append(commands, path)
		}
	}
	return libraries, commands
}

// Defect C7: a module that imported rlock got 54 modules that no program with a lock contains. This test is not parallel:
// it compiles what all others need, which would each compile it at the same time.
func TestAUserOfTheLocksGetsFewModules(t *testing.T) {
	u := newUser(t, root)
	libraries, _ := packages(t, holdfast)
	require.Contains(t, libraries, holdfast+"/rlock")
	require.Contains(t, libraries, holdfast+"/redlock")
	u.importing(libraries...)
	u.must("go", "mod", "tidy")
	u.must("go", "build", "-o", "shop", ".")
	all := u.list("-m", "-f", "{{.Path}}", "all")
	assert.LessOrEqual(t, len(all), most, "%q", all)
	const others = `{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`
	assert.Subset(t, linked, u.list("-deps", "-f", others, "."))
}

// The test of doc.go: a job that stops when its lock is lost.
const kitTest = `package shop

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestTheJobStopsWhenItsLockIsLost(t *testing.T) {
	lab := holdfasttest.New(t)
	nightly := rlock.New(lab.Client(nil), "nightly")
	done := make(chan error)
	go func() {
		done <- nightly.Do(context.Background(), func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	lab.Lose("nightly", rlock.LossGone)
	if err := <-done; !errors.Is(err, rlock.ErrLost) {
		t.Fatalf("the job went on: %v", err)
	}
}
`

func TestAUserOfTheTestKit(t *testing.T) {
	t.Parallel()
	u := newUser(t, root)
	u.write("shop_test.go", kitTest)
	u.must("go", "mod", "tidy")
	require.Contains(t, u.must("go", "test", "-v", "-ldflags=-w", "."), "--- PASS: TestTheJobStopsWhenItsLockIsLost")
	require.LessOrEqual(t, len(u.list("-m", "-f", "{{.Path}}", "all")), most)
}

// misuse compiles, and one of its two functions goes wrong silently.
const misuse = `package shop

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

func Right(ctx context.Context, l *rlock.Lock) error { return l.Do(ctx, work) }

func Wrong(ctx context.Context, l *rlock.Lock) error {
	return l.Do(ctx, func(context.Context) error { return work(ctx) })
}

func work(context.Context) error { return nil }
`

func TestAUserOfTheAnalyzer(t *testing.T) {
	t.Parallel()
	const analyzer = holdfast + "/holdfastvet"
	u := newUser(t, root)
	u.must("go", "install", "-ldflags=-w", analyzer+"/cmd/holdfastvet@"+published.version)
	tool := filepath.Join(u.dir, "holdfastvet")
	u.write("shop.go", misuse)
	u.must("go", "mod", "tidy")
	said, err := u.try("go", "vet", "-vettool="+tool, "./...")
	require.Error(t, err, "%s", said)
	require.Contains(t, said, "shop.go:12:")
	require.Equal(t, 1, strings.Count(said, "shop.go:"), "%s", said)
	require.NotContains(t, strings.Join(u.list("-m", "-f", "{{.Path}}", "all"), " "), "x/tools",
		"a user of the analyzer does not import it")
}

// Every module that is neither of tests nor of examples can be used as it is served: what it exports can be imported,
// and its commands can be installed.
func TestAUserOfEveryOtherModule(t *testing.T) {
	for module, dir := range published.modules {
		switch inside := strings.TrimPrefix(module, holdfast); {
		case inside == "", inside == "/bench", inside == "/integration", strings.HasPrefix(inside, "/examples"):
			continue
		default:
			t.Run(strings.TrimPrefix(inside, "/"), func(t *testing.T) {
				t.Parallel()
				u := newUser(t, dir)
				libraries, commands := packages(t, module)
				if len(libraries) > 0 {
					u.importing(libraries...)
					u.must("go", "mod", "tidy")
					u.must("go", "build", "-o", os.DevNull, ".")
				}
				for _, command := range commands {
					u.must("go", "install", "-ldflags=-w", command+"@"+published.version)
				}
			})
		}
	}
}
