package consumer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// An example is a program that checks itself and says what it saw.
type example struct {
	// ownServers: it starts its servers itself, so REDIS_URL means nothing to it.
	ownServers bool
	// anySite: it runs on a cluster and behind a Sentinel, too.
	anySite bool
	// stores are the values of its flag -store by which it uses a server; nil: it has no such flag, and always does.
	stores []string
	// says is what it prints, and how often; 0 stands for once or more.
	says map[string]int
}

// recipes is the folder of the short ones, which a test beside them runs.
const recipes = "recipes"

// examples are the others in the folder examples.
var examples = map[string]example{
	"boxoffice": {says: map[string]int{"seats were sold, and none of them twice": 1}},
	"fencing":   {},
	"leader": {says: map[string]int{
		"it is killed":                   1,
		"arrives late: refused":          1,
		" leads":                         3,
		"Everything was as it should be": 1,
	}},
	"nightly": {says: map[string]int{
		"closes the books": 3, // one of them dies
		"skips it: it runs elsewhere, or has just run\nThe books were closed once that night.": 1,
		"skips it":       6,
		"machine D dies": 1,
		"the machine whose clock is late has closed the books\nThe books": 1,
		"The books were closed once that night.":                          2,
	}},
	"printers": {says: map[string]int{
		"and is switched off": 0,
		"10 documents were printed, and never more than 3 at a time": 0,
		"computer prints document":                                   10,
	}},
	"quickstart": {anySite: true, says: map[string]int{"Everything was as it should be": 0}},
	"redlock":    {ownServers: true, says: map[string]int{"Everything was as it should be": 0}},
	"reports":    {says: map[string]int{"Everything was as it should be": 0, "turned away": 0}},
	"stores": {stores: []string{"redis", "postgres", "etcd"}, says: map[string]int{
		"is billed, under token":        4,
		"Every account was billed once": 1,
	}},
	"tickets": {says: map[string]int{
		"Fay has seat 4\neverybody who stayed was served in the order of arrival": 0,
	}},
	"transfer": {says: map[string]int{
		"is killed with a transfer half done: the total is 399": 0,
		"1 half transfer was found, and finished":               0,
		"the total is 400\n":                                    0,
		"no account is locked":                                  0,
	}},
}

// Each example is what a newcomer copies: into an empty module, where it runs as it is, with a server inside it and on
// every kind of Redis that it names. The one for a job that must run once has it run once (defect F26: the pages named
// it for TryLock with MinHold, and it had neither).
func TestExamplesCanBeCopied(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(root, "examples"))
	require.NoError(t, err)
	for _, folder := range folders {
		if folder.IsDir() && folder.Name() != recipes {
			assert.Contains(t, examples, folder.Name(), "an example that is not run")
		}
	}
	urls := map[string]string{"own server": "", "redis": "redis://" + redistest.Start(t).Addr()}
	addrs := redistest.Cluster(t, 3).Addrs()
	sentinel := redistest.Sentinel(t).Options()
	anywhere := map[string]string{
		"cluster":  "redis://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr="),
		"sentinel": "redis://" + sentinel.SentinelAddrs[0] + "?master_name=" + sentinel.MasterName,
	}
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := copied(t, name)
			u.must("go", "mod", "tidy")
			u.must("go", "vet", ".") // with its tests, if it has some
			u.must("go", "build", "-ldflags=-w", "-o", "example", ".")
			for site, url := range urls {
				if url == "" || !e.ownServers {
					t.Run(site, func(t *testing.T) { e.run(t, u, found{redis: url}) })
				}
			}
			if e.anySite {
				for site, url := range anywhere {
					t.Run(site, func(t *testing.T) { e.run(t, u, found{redis: url}) })
				}
			}
			if e.stores == nil {
				return
			}
			all := found{urls["redis"], pgtest.Start(t).URL(), etcdtest.Start(t).Endpoint()}
			for _, store := range e.stores {
				t.Run(store+" found", func(t *testing.T) { e.run(t, u, all, "-store", store) })
				t.Run(store+" started", func(t *testing.T) { e.run(t, u, found{}, "-store", store) })
			}
		})
	}
}

// So are recipes: all of them compile in one module, which needs no more than the locks do.
func TestRecipesCanBeCopied(t *testing.T) {
	t.Parallel()
	u := newUser(t, root)
	programs, err := filepath.Glob(filepath.Join(root, "examples", recipes, "*", "main.go"))
	require.NoError(t, err)
	require.NotEmpty(t, programs)
	for _, program := range programs {
		text, err := os.ReadFile(program)
		require.NoError(t, err)
		folder := filepath.Base(filepath.Dir(program))
		require.NoError(t, os.Mkdir(filepath.Join(u.dir, folder), 0o777))
		u.write(filepath.Join(folder, "main.go"), string(text))
	}
	u.must("go", "mod", "tidy")
	u.must("go", "vet", "./...")
	require.LessOrEqual(t, len(u.list("-m", "-f", "{{.Path}}", "all")), most)
}

// copied is a module with the Go files of an example, without those tests that use our test kit.
func copied(t *testing.T, name string) user {
	t.Helper()
	from := filepath.Join(root, "examples", name)
	like := root
	if _, err := os.Stat(filepath.Join(from, "go.mod")); err == nil {
		like = from
	}
	u := newUser(t, like)
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), holdfast+"/internal/testkit/") {
			continue
		}
		u.write(filepath.Base(file), string(text))
	}
	return u
}

// found are the servers that an example finds; "": it starts one itself, if it needs it.
type found struct{ redis, postgres, etcd string }

func (f found) environment() []string {
	return []string{"REDIS_URL=" + f.redis, "DATABASE_URL=" + f.postgres, "ETCD_ENDPOINTS=" + f.etcd}
}

func (e example) run(t *testing.T, u user, servers found, flags ...string) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), filepath.Join(u.dir, "example"), flags...)
	cmd.Env = append(cmd.Environ(), servers.environment()...)
	etcd, err := etcdtest.Program("etcd")
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, "HOLDFAST_ETCD_BIN="+filepath.Dir(etcd))
	out, err := cmd.CombinedOutput()
	said := string(out)
	require.NoError(t, err, said)
	require.NotContains(t, said, "NOT SO")
	for text, times := range e.says {
		if times == 0 {
			assert.Contains(t, said, text)
		} else {
			assert.Equal(t, times, strings.Count(said, text), "%q in %s", text, said)
		}
	}
}

// defect F6: the error of a URL that does not parse quotes it, with the password, and examples are copied.
func TestNoExampleTellsAPassword(t *testing.T) {
	for name, e := range examples {
		if e.ownServers {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "example")
			build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", program, ".")
			build.Dir = filepath.Join(root, "examples", name)
			said, err := build.CombinedOutput()
			require.NoError(t, err, string(said))
			for _, special := range []string{"#", "%", "/", "?", " ", "[", "\\", "<", "^", "\x7f"} {
				for _, part := range []string{"hunter", "7391402"} {
					if special == "#" && part == "7391402" {
						continue // it parses, as another server's
					}
					e.tellsNoPassword(t, program, part+special+"correcthorse", part)
				}
			}
		})
	}
}

func (e example) tellsNoPassword(t *testing.T, program, password, part string) {
	t.Helper()
	var runs [][]string
	for _, store := range e.stores {
		runs = append(runs, []string{"-store", store})
	}
	if runs == nil {
		runs = [][]string{nil}
	}
	for _, flags := range runs {
		cmd := exec.CommandContext(t.Context(), program, flags...)
		at := ":" + password + "@127.0.0.1:1/0"
		cmd.Env = append(cmd.Environ(), found{"redis://" + at, "postgres://postgres" + at, "http://root" + at}.environment()...)
		said, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Regexp(t, "%XX|dial error|must have no password", string(said), "%q: it is refused, or understood", password)
		assert.NotContains(t, string(said), part, "%q", password)
		assert.NotContains(t, string(said), "correct", "%q", password)
	}
}
