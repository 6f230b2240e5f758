package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/opendefect"
)

// Defect C7: a module that imports rlock gets, besides the modules that a program with a lock is made from, all those
// of our tests, and theirs: each is in go.sum, and every scanner of dependencies reports on it.
func TestAConsumerGetsNoModulesOfOurTests(t *testing.T) {
	opendefect.Shows(t, "C7", `^54 of 60 modules are no part of the program: .*testcontainers`, func() error {
		consumer := newConsumer(t)
		inProgram := consumer.list("-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
		require.Contains(t, inProgram, "github.com/redis/go-redis/v9")
		all := consumer.list("-m", "-f", "{{.Path}}", "all")
		all = slices.DeleteFunc(all, func(module string) bool { return module == consumerPath })
		needless := slices.DeleteFunc(slices.Clone(all), func(module string) bool {
			return slices.Contains(inProgram, module)
		})
		if len(needless) == 0 {
			return nil
		}
		return fmt.Errorf("%d of %d modules are no part of the program: %s", len(needless), len(all),
			strings.Join(needless, " "))
	})
}

const consumerPath = "example.com/consumer"

// consumer is a module that imports rlock, as a user's does, from this tree.
type consumer struct {
	t   *testing.T
	dir string
}

func newConsumer(t *testing.T) consumer {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	version := ""
	for line := range strings.Lines(string(ours)) {
		if strings.HasPrefix(line, "go ") {
			version = line
		}
	}
	require.NotEmpty(t, version)
	c := consumer{t, t.TempDir()}
	const holdfast = "github.com/holdfast-go/holdfast"
	c.write("go.mod", fmt.Sprintf("module %s\n\n%s\nrequire %s v0.0.0\n\nreplace %s => %s\n",
		consumerPath, version, holdfast, holdfast, root))
	c.write("go.sum", string(sums))
	c.write("main.go", fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", holdfast+"/rlock"))
	return c
}

func (c consumer) write(name, text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600))
}

// list is the output of go list, without repetitions.
func (c consumer) list(args ...string) []string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var said strings.Builder
	cmd.Stderr = &said
	printed, err := cmd.Output()
	require.NoError(c.t, err, said.String())
	words := strings.Fields(string(printed))
	slices.Sort(words)
	return slices.Compact(words)
}
