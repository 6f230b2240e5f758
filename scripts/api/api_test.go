package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// api writes a package and returns its lines.
func api(t *testing.T, source string) []string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GOWORK", "off")
	for name, text := range map[string]string{
		"go.mod": "module " + holdfast + "p\n\ngo 1.26.0\n", "p.go": "package p\n\n" + source,
		"internal/q/q.go": "package q\n\ntype T struct{ F int }\n\nfunc (*T) M() {}\n",
	} {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	lines, err := exported(dir, ".")
	require.NoError(t, err)
	return lines
}

const before = `import "github.com/holdfast-go/holdfast/p/internal/q"

const C = 1

func F(name string, more ...int) error { return nil }

type S struct {
	A int
	b int
}

func (S) Get() int   { return 0 }
func (*S) Set(n int) {}

type I interface{ Do() }

type Sealed interface {
	Do()
	sealed()
}

type T = q.T

type G[E any] struct{ Elem E }
`

func TestWhatIsListed(t *testing.T) {
	require.Equal(t, []string{
		"p: const C untyped int",
		"p: field G.Elem E",
		"p: field S.A int",
		"p: field T.F int",
		"p: func F(string, ...int) error",
		"p: method (*S) Set(int)",
		"p: method (*T) M()",
		"p: method (S) Get() int",
		"p: method (Sealed) Do()",
		"p: type G E any struct",
		"p: type I interface { Do() }",
		"p: type S struct",
		"p: type Sealed interface, sealed",
		"p: type T = p/internal/q.T",
		"p: type T struct",
	}, api(t, before))
}

// What users compile against is compared: a break is seen, an addition and a new name of a parameter are none.
func TestABreakIsSeen(t *testing.T) {
	old := api(t, before)
	for name, c := range map[string]struct{ from, to, gone string }{
		"a function that is gone":    {"func F(name string, more ...int) error { return nil }", "", "p: func F(string, ...int) error"},
		"another parameter":          {"more ...int", "n int, more ...int", "p: func F(string, ...int) error"},
		"a field of another type":    {"A int", "A int64", "p: field S.A int"},
		"a receiver":                 {"(S) Get", "(*S) Get", "p: method (S) Get() int"},
		"a method more to implement": {"interface{ Do() }", "interface{ Do(); Undo() }", "p: type I interface { Do() }"},
		"a constant of another type": {"C = 1", "C int64 = 1", "p: const C untyped int"},
		"a method more to call":      {"	sealed()", "	sealed()\n	Undo()", ""},
		"another name":               {"F(name string", "F(key string", ""},
		"an unexported field":        {"b int", "b string", ""},
		"a new function":             {"const C = 1", "const C = 1\n\nfunc New() {}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(before, c.from))
			gone := breaks(old, api(t, strings.Replace(before, c.from, c.to, 1)))
			require.Equal(t, c.gone, strings.Join(gone, "\n"))
		})
	}
}
