// Package docs_test keeps the pages for users true: their programs compile, their links lead somewhere, and the
// README stays short.
package docs_test

import (
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/frames"
)

// pages are all pages in Markdown that a user or a contributor reads, by their path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../bench/*.md", "../integration/*.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts[strings.TrimPrefix(file, "../")] = string(text)
		}
	}
	require.Greater(t, len(texts), 12)
	return texts
}

// The README is a landing page: what does not fit belongs into docs.
func TestTheReadmeIsShort(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, strings.Count(pages(t)["README.md"], "\n"), 150)
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// preamble has the imports of a block that is no whole file, each of them used.
const preamble = `package page

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/zklock"
)

var _ context.Context
var _ *sql.DB
var _ = errors.New
var _ = fmt.Sprint
var _ *fence.SQL
var _ *leader.Election
var _ time.Duration
var _ redis.UniversalClient
var _ *clientv3.Client
var _ *etcdlock.Client
var _ lock.Provider
var _ testing.TB
var _ = holdfasttest.New
var _ *rlock.Lock
var _ *zklock.Client

`

// A block of Go is a whole program or whole functions. Each compiles in a module of its own that has nothing but this
// one, pglock, etcdlock and zklock, as it does for a user who pastes it.
func TestGoOnThePagesCompiles(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("go")
	require.NoError(t, err, "this test compiles programs: the go command has to be on PATH")
	dir := t.TempDir()
	consumer(t, dir)
	programs := 0
	for page, text := range pages(t) {
		for i, block := range goBlock.FindAllStringSubmatch(text, -1) {
			source := block[1]
			if strings.HasPrefix(source, "package main\n") {
				programs++
			} else {
				source = preamble + source
			}
			name := strings.NewReplacer("/", "_", ".", "_").Replace(page) + "_" + string(rune('a'+i))
			require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name, "main.go"), []byte(source), 0o666))
		}
	}
	require.Positive(t, programs)
	vet := exec.CommandContext(t.Context(), tool, "vet", "-mod=mod", "./...")
	vet.Dir = dir
	vet.Env = append(os.Environ(), "GOWORK=off")
	said, err := vet.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

// consumer makes dir a module that requires this one, pglock, etcdlock and zklock, in the versions that these have.
func consumer(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	const module = "github.com/holdfast-go/holdfast"
	text := strings.Replace(read("go.mod"), "module "+module, "module example.com/shop", 1)
	for _, inside := range []string{"", "/pglock", "/etcdlock", "/zklock"} {
		text += "\nrequire " + module + inside + " v0.0.0\n\nreplace " + module + inside + " => " + root + inside + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666))
	sums := read("go.sum") + read("pglock/go.sum") + read("etcdlock/go.sum")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sums), 0o666))
}

// The statement that makes the table of locks stands on a page for those who copy it: the first of pglock.Migrations.
func TestThePageHasTheTableOfLocks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../pglock/internal/pgstore/sql/migration_1.sql")
	require.NoError(t, err)
	_, do, found := strings.Cut(string(text), "\nDO ")
	require.True(t, found)
	statement := "DO " + strings.NewReplacer("{{table}}", "holdfast_lock", "{{lock}}", "7525352680829580148").Replace(do)
	require.Contains(t, pages(t)["docs/guide.md"], "```sql\n"+strings.TrimSpace(statement)+"\n```")
}

// Every module that users import or install is in the table of modules.
func TestThePageHasEveryModule(t *testing.T) {
	t.Parallel()
	work, err := os.ReadFile("../go.work")
	require.NoError(t, err)
	page := pages(t)["docs/modules.md"]
	modules := 0
	for _, use := range regexp.MustCompile(`(?m)^\t\./(.+)$`).FindAllStringSubmatch(string(work), -1) {
		module := use[1]
		if regexp.MustCompile(`^(bench|integration|examples/.*|.*/internal/.*)$`).MatchString(module) {
			continue
		}
		modules++
		parent, name := filepath.Split(module)
		require.True(t, strings.Contains(page, "`"+module+"`") ||
			strings.Contains(page, "`"+parent) && strings.Contains(page, "`"+name+"`"), module)
	}
	require.Greater(t, modules, 8)
}

// A manual is read on a screen: what a user needs of a package fits on two of fifty lines of go doc, and the argument
// why it is safe follows.
func TestAManualFitsOnTwoScreens(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("go")
	require.NoError(t, err, "this test asks for the packages: the go command has to be on PATH")
	const format = `{{if ne .Name "main"}}{{range .GoFiles}}{{$.ImportPath}} {{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}`
	list, err := exec.CommandContext(t.Context(), tool, "list", "-f", format, "work").Output()
	require.NoError(t, err)
	inside := regexp.MustCompile(`/(internal|bench|examples|integration)(/|$)`)
	manuals := 0
	for line := range strings.Lines(string(list)) {
		path, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || inside.MatchString(path) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if file.Doc == nil {
			continue
		}
		use, _, _ := strings.Cut(file.Doc.Text(), "\n# Why ")
		text := (&comment.Printer{}).Text(new(comment.Parser).Parse(use))
		assert.LessOrEqual(t, strings.Count(string(text), "\n"), 100,
			"go doc %s: only rules belong before \"# Why it is safe\"", path)
		manuals++
	}
	require.Greater(t, manuals, 20)
}

var (
	codeBlock = regexp.MustCompile("(?s)```.*?```")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// A link to a file of this repository names one that is there, and a link to a heading one that the page has.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	links := 0
	for page, text := range texts {
		for _, found := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(found[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			_, err := os.Stat(filepath.Join("..", target))
			assert.NoError(t, err, "%s: %s", page, found[1])
			if anchor != "" {
				assert.Contains(t, anchors(texts[target]), anchor, "%s: %s", page, found[1])
			}
		}
	}
	require.Greater(t, links, 50)
}

// anchors are the names that the headings of a page have in links.
func anchors(text string) (names []string) {
	for _, found := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, found[1])
		names = append(names, name)
	}
	return names
}

// A page that names a bound of the code has its number (defect F26: SECURITY.md had one from before).
func TestSecurityNamesTheBoundOfReplies(t *testing.T) {
	t.Parallel()
	require.Contains(t, pages(t)["SECURITY.md"], fmt.Sprintf("a reply of more than %d MB", frames.MaxFrame>>20))
}

var (
	fetched  = regexp.MustCompile(`go (?:get|install|run) github\.com/holdfast-go/holdfast\S*`)
	released = regexp.MustCompile(`(?m)^## \[v?\d`)
)

// As long as nothing is released, neither a page nor a comment has anybody fetch a module of this repository: what they
// say takes a checkout (defect F26).
func TestNothingIsFetchedThatIsNotReleased(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	if released.MatchString(texts["CHANGELOG.md"]) {
		return
	}
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	}))
	require.Greater(t, len(texts), 500)
	for name, text := range texts {
		assert.Empty(t, fetched.FindString(text), name)
	}
}
