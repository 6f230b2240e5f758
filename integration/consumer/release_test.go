package consumer

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// repository is a copy of the tree in a repository of its own.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, filepath.Join(t.TempDir(), "holdfast")}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	require.NoError(t, err)
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSuffix(name, "\n")
		from, to := filepath.Join(root, name), filepath.Join(r.dir, name)
		info, err := os.Lstat(from)
		if os.IsNotExist(err) {
			continue // deleted, but not yet in a commit
		}
		require.NoError(t, err)
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o777))
		require.NoError(t, os.WriteFile(to, text, info.Mode()))
	}
	r.must("git", "init", "-q")
	r.must("git", "config", "user.name", "a releaser")
	r.must("git", "config", "user.email", "releaser@example.com")
	r.must("git", "add", "-A")
	r.must("git", "commit", "-q", "-m", "a tree")
	return r
}

func (r repository) try(program string, args ...string) (said string, err error) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), program, args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r repository) must(program string, args ...string) (said string) {
	r.t.Helper()
	said, err := r.try(program, args...)
	require.NoError(r.t, err, "%s %q: %s", program, args, said)
	return strings.TrimSpace(said)
}

// The one command of CONTRIBUTING.md tags every module, and each tag has the siblings in the same version.
func TestAReleaseTagsEveryModule(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	const version = "v0.9.0"
	said, err := r.try("scripts/release.sh", "0.9.0")
	require.Error(t, err)
	require.Contains(t, said, "want a version like v0.4.0")

	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "left.txt"), nil, 0o666))
	said, err = r.try("scripts/release.sh", version)
	require.Error(t, err)
	require.Contains(t, said, "not clean")
	require.NoError(t, os.Remove(filepath.Join(r.dir, "left.txt")))
	require.Empty(t, r.must("git", "tag"))

	said = r.must("scripts/release.sh", version)
	require.Empty(t, r.must("git", "status", "--porcelain"))
	require.Contains(t, r.must("git", "show", version+":CHANGELOG.md"), "## [0.9.0] - ")
	var tags []string
	for path := range published.modules {
		inside := strings.TrimPrefix(strings.TrimPrefix(path+"/", holdfast+"/"), "/")
		tag := inside + version
		tags = append(tags, tag)
		require.Contains(t, said, " "+tag)
		mod, err := modfile.Parse("go.mod", []byte(r.must("git", "show", tag+":"+inside+"go.mod")), nil)
		require.NoError(t, err)
		for _, required := range mod.Require {
			if published.modules[required.Mod.Path] != "" {
				require.Equal(t, version, required.Mod.Version, "%s requires %s", path, required.Mod.Path)
			}
		}
	}
	require.ElementsMatch(t, tags, strings.Fields(r.must("git", "tag")))
	require.Contains(t, r.must("go", "list", "-deps", "./bench"), holdfast+"/rlock", "the workspace still works")

	said, err = r.try("scripts/release.sh", version)
	require.Error(t, err)
	require.Contains(t, said, "exists")
	r.served(version, slices.Sorted(maps.Keys(published.modules)))
}

// served checks that the go command finds the modules of a version where their paths lead it: at a repository with
// tags, not at a proxy.
func (r repository) served(version string, modules []string) {
	r.t.Helper()
	for _, path := range modules {
		cmd := exec.CommandContext(r.t.Context(), "go", "mod", "download", path+"@"+version)
		cmd.Dir = r.t.TempDir()
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+filepath.Join(r.dir, "..", "cache"),
			"GOPRIVATE="+holdfast, "GIT_ALLOW_PROTOCOL=file:https", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=url.file://"+filepath.ToSlash(r.dir)+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+holdfast)
		said, err := cmd.CombinedOutput()
		require.NoError(r.t, err, "%s: %s", path, said)
	}
}
