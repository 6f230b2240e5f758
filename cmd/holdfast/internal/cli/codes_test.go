package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// documented reads the table below the heading "Exit codes": the commands of each code. Codes that a command of the
// user's has are texts such as "128 + N".
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/command-line.md")
	require.NoError(t, err)
	before, table, found := strings.Cut(string(page), "\n## Exit codes\n")
	require.True(t, found)
	assert.NotContains(t, strings.ToLower(before+table), "# exit codes", "there is one such heading")
	codes := make(map[string][]string)
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if strings.HasPrefix(line, "#") {
			break
		}
		if len(cells) != 5 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "code" {
			continue
		}
		code := strings.TrimSpace(cells[1])
		require.NotContains(t, codes, code, "twice")
		require.NotEmpty(t, strings.TrimSpace(cells[3]), code)
		codes[code] = strings.Fields(strings.ReplaceAll(cells[2], "`", ""))
	}
	return codes
}

// constants reads the exit codes from the source.
func constants(t *testing.T) (codes []string) {
	t.Helper()
	for _, name := range []string{"exit.go", "run_unix.go", "../job/exit.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if is && strings.HasPrefix(spec.Names[0].Name, "exit") {
				require.Len(t, spec.Values, 1, spec.Names[0].Name)
				codes = append(codes, spec.Values[0].(*ast.BasicLit).Value)
			}
			return true
		})
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// What the page says of exit codes is what the code has, of every command.
func TestThePageHasEveryExitCodeOfEveryCommand(t *testing.T) {
	codes := documented(t)
	numbers := make([]string, 0, len(codes))
	said := make(map[string]bool)
	for code, commands := range codes {
		if _, err := strconv.Atoi(code); err == nil && code != "0" {
			numbers = append(numbers, code)
		}
		for _, name := range commands {
			said[name] = true
		}
	}
	assert.ElementsMatch(t, constants(t), numbers)
	for _, cmd := range newRoot(nil, nil).Commands() {
		if name := cmd.Name(); name != "help" && name != "completion" {
			assert.True(t, said[name], "the page does not say how %s ends", name)
			delete(said, name)
		}
	}
	assert.Empty(t, said, "there are no such commands")
}

// The codes of mistakes, of a Redis that does not answer or denies access, and of a key that something else has are
// those of the page (defect F18).
func TestCommandsEndAsThePageSays(t *testing.T) {
	codes := documented(t)
	arguments := map[string][]string{"inspect": {"x"}, "break": {"x"}, "run": {"x", "true"}}
	for _, name := range codes["64"] {
		_, code := execute(t, name, "--nonsense")
		assert.Equal(t, exitUsage, code, name)
	}
	p := newPlace(t)
	require.NoError(t, p.rdb.Set(t.Context(), "x", "y", 0).Err())
	locked := redistest.Start(t)
	require.NoError(t, locked.Client(t).ConfigSet(t.Context(), "requirepass", "secret").Err())
	limited := redistest.Start(t)
	require.NoError(t, limited.Client(t).Do(t.Context(), "ACL", "SETUSER", "few", "on", ">s", "~*", "+ping").Err())
	tls := faultproxy.Start(t, p.server.Addr()) // a server with TLS hangs up on what it does not understand
	tls.On(func(faultproxy.Request) bool { return true }, faultproxy.CutBefore).Times(-1)
	for _, test := range []struct {
		what, url string
		code      int
		says      string
	}{
		{"nothing listens", "redis://127.0.0.1:1", exitUnavailable, "refused"},
		{"TLS to a plain server", "rediss://" + p.server.Addr(), exitUnavailable, "use redis://"},
		{"without TLS to a server that hangs up", "redis://" + tls.Addr(), exitUnavailable, "use rediss://"},
		{"no password", "redis://" + locked.Addr(), exitDenied, "denies access"},
		{"wrong password", "redis://:mistaken@" + locked.Addr(), exitDenied, "denies access"},
		{"no rights", "redis://few:s@" + limited.Addr(), exitDenied, "denies access"},
		{"another program's key", p.url, exitConflict, "used for something else"},
	} {
		for _, name := range []string{"run", "list", "inspect", "watch", "break", "leaks", "doctor"} {
			if test.code == exitConflict && name != "run" {
				continue
			}
			want := exitFailed // of the doctor: a failure is what it has found out
			if slices.Contains(codes[strconv.Itoa(test.code)], name) {
				want = test.code
			}
			require.True(t, want != exitFailed || name == "doctor", "the page does not say how %s ends: %s", name, test.what)
			args := append([]string{"--redis", test.url, "--lease", "3s", name}, arguments[name]...)
			out, code := execute(t, args...)
			assert.Equal(t, want, code, "%s, %s: %s", name, test.what, out)
			if want == test.code {
				assert.Contains(t, out, test.says, name)
				assert.Equal(t, 1, strings.Count(out, test.says), "%s says it once: %s", name, out)
			}
			assert.NotContains(t, out, "mistaken", name)
		}
	}
}
