package docs_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/gofiles"
)

// inside are the errors that are only seen inside another one, which names the module.
var inside = regexp.MustCompile(`^(redlock\.(ErrRestarted|ErrNotIndependent)|watchdog\.ErrGone)$`)

// notOurs are folders of which no user sees an error.
var notOurs = regexp.MustCompile(`(^|/)(internal|bench|integration|scripts|examples|spec|docs)(/|$)`)

// The text of an exported error begins with the name of the module, so that a log of many programs says whose it is.
func TestErrorsBeginWithTheModule(t *testing.T) {
	seen := 0
	err := gofiles.Each(os.DirFS(".."), func(f gofiles.File) {
		dir := path.Dir(f.Name)
		if notOurs.MatchString(dir) {
			return
		}
		for _, decl := range f.Decls {
			of, is := decl.(*ast.GenDecl)
			if !is || of.Tok != token.VAR {
				continue
			}
			for _, spec := range of.Specs {
				name, text := exportedError(spec.(*ast.ValueSpec))
				if name == "" || inside.MatchString(path.Base(dir)+"."+name) {
					continue
				}
				seen++
				require.True(t, strings.HasPrefix(text, "holdfast: "), "%s: %s: %q", f.Name, name, text)
			}
		}
	})
	require.NoError(t, err)
	require.Greater(t, seen, 10, "these cannot be all")
}

// exportedError is the name of an exported variable that errors.New makes, and its text.
func exportedError(v *ast.ValueSpec) (name, text string) {
	if len(v.Names) != 1 || len(v.Values) != 1 || !v.Names[0].IsExported() {
		return "", ""
	}
	call, is := v.Values[0].(*ast.CallExpr)
	if !is || len(call.Args) != 1 {
		return "", ""
	}
	made, is := call.Fun.(*ast.SelectorExpr)
	literal, quoted := call.Args[0].(*ast.BasicLit)
	if !is || !quoted || made.Sel.Name != "New" {
		return "", ""
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return "", ""
	}
	return v.Names[0].Name, text
}
