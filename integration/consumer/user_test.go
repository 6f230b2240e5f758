package consumer

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// user is a module outside the tree, as somebody makes it who uses some of ours.
type user struct {
	t   *testing.T
	dir string
}

// newUser makes an empty module. It will take the versions of other modules that the module in the folder like has, if
// it needs them: a newer one of another project is not tested here.
func newUser(t *testing.T, like string) user {
	t.Helper()
	u := user{t, t.TempDir()}
	text, err := os.ReadFile(filepath.Join(like, "go.mod"))
	require.NoError(t, err)
	theirs, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	mine := new(modfile.File)
	require.NoError(t, mine.AddModuleStmt("example.com/shop"))
	require.NoError(t, mine.AddGoStmt(theirs.Go.Version))
	for _, r := range theirs.Require {
		if published.modules[r.Mod.Path] == "" && !r.Indirect {
			require.NoError(t, mine.AddRequire(r.Mod.Path, r.Mod.Version))
		}
	}
	text, err = mine.Format()
	require.NoError(t, err)
	u.write("go.mod", string(text))
	u.write("go.sum", string(published.sums))
	return u
}

func (u user) write(name, text string) {
	u.t.Helper()
	name = filepath.Join(u.dir, name)
	require.NoError(u.t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(u.t, os.WriteFile(name, []byte(text), 0o666))
}

// importing writes a program that imports packages.
func (u user) importing(paths ...string) {
	u.t.Helper()
	u.write("main.go", "package main\n\nimport (\n\t_ \""+strings.Join(paths, "\"\n\t_ \"")+"\"\n)\n\nfunc main() {}\n")
}

// try runs a program in the module and returns what it said.
func (u user) try(program string, args ...string) (said string, err error) {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), program, args...)
	cmd.Dir = u.dir
	cmd.Env = append(published.environment(), "GOBIN="+u.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is try for a command that has to succeed.
func (u user) must(program string, args ...string) (said string) {
	u.t.Helper()
	said, err := u.try(program, args...)
	require.NoError(u.t, err, "%s %q: %s", program, args, said)
	return said
}

// list is what go list prints, without repetitions.
func (u user) list(args ...string) []string {
	u.t.Helper()
	words := strings.Fields(u.must("go", append([]string{"list"}, args...)...))
	slices.Sort(words)
	return slices.Compact(words)
}
