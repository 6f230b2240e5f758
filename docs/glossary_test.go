package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	quoted    = regexp.MustCompile("`([^`]+)`")
	selectors = regexp.MustCompile(`^[A-Za-z]+(\.[A-Za-z]+)+$`)
)

// The glossary says what the code calls each thing. A name that was changed there is changed here.
func TestTheGlossaryNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	_, glossary, found := strings.Cut(pages(t)["docs/internals.md"], "## Glossary")
	require.True(t, found)
	names := 0
	for row := range strings.Lines(glossary) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(cells[3], -1) {
			switch name := match[1]; {
			case strings.Contains(name, "/"):
				_, err := os.Stat(filepath.Join("..", name))
				assert.NoError(t, err, "%s:%s", cells[1], name)
				names++
			case selectors.MatchString(name):
				assert.True(t, declared(t, name), "%s:%s is nowhere declared", cells[1], name)
				names++
			}
		}
	}
	require.Greater(t, names, 30)
}

// declared reports whether package.Name, package.Name.Method or Type.Field is declared somewhere: each part after the
// first as a type, a function, a field or a value, the first as a package's folder or a type.
func declared(t *testing.T, name string) bool {
	t.Helper()
	parts := strings.Split(name, ".")
	var sources []string
	for _, folder := range []string{"../", "../internal/", "../internal/redisstore/", "../observe/"} {
		pattern := folder + parts[0] + "/*.go"
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		sources = append(sources, files...)
	}
	if len(sources) == 0 { // a type of one of the packages for users
		for _, pattern := range []string{"../lock/*.go", "../rlock/*.go"} {
			files, err := filepath.Glob(pattern)
			require.NoError(t, err)
			sources = append(sources, files...)
		}
	} else {
		parts = parts[1:]
	}
	var text strings.Builder
	for _, source := range sources {
		code, err := os.ReadFile(source)
		require.NoError(t, err)
		text.Write(code)
	}
	for _, part := range parts {
		declaration := regexp.MustCompile(`(?m)^(type |func |func \([^)]*\) |\t)` + part + `\b`)
		if !declaration.MatchString(text.String()) {
			return false
		}
	}
	return true
}
