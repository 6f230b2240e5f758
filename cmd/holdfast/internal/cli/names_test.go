package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// oddNames are names that not every reader can take. The last one looks as the first one does when it is quoted.
var oddNames = []string{
	"file:caf\xe9.txt", "file:caf\xea.txt", "line\nbreak", "zero\x00byte", "with space", `back\slash`, "tab\t", "héllo \ufffd",
	`"file:caf\xe9.txt"`,
}

// What a command printed of a lock, as JSON or in a table, is a name that inspect and break take
// (defect G53).
func TestWhatListPrintsIsWhatBreakTakes(t *testing.T) {
	p := newPlace(t)
	for _, odd := range oddNames {
		p.hold(t, rlock.New(p.client, odd))
	}
	out, code := p.run(t, "list", "-o", "json")
	require.Zero(t, code)
	assert.True(t, utf8.ValidString(out))
	assert.NotContains(t, out, `caf\ufffd`)
	var printed []struct{ Name string }
	require.NoError(t, json.Unmarshal([]byte(out), &printed))
	assert.Len(t, printed, len(oddNames))
	table, code := p.run(t, "list")
	require.Zero(t, code)
	assert.True(t, utf8.ValidString(table))

	for _, odd := range oddNames {
		assert.Contains(t, table, shown(odd))
		view := read[lockView](t, p, 0, "inspect", shown(odd))
		assert.Equal(t, 1, view.Held, "%q", odd)
	}
	for _, lock := range printed {
		out, code := p.run(t, "break", lock.Name)
		assert.Zero(t, code, out)
	}
	assert.Empty(t, read[[]lockView](t, p, 0, "list"))
}

// A text that begins with a quotation mark and is not quoted is a mistake, rather than another name (defect G53).
func TestANameThatIsHalfQuotedIsAMistake(t *testing.T) {
	for _, args := range [][]string{
		{"inspect", `"order`}, {"break", `"order`}, {"run", `"order`, "true"}, {"watch", `"order`}, {"break", "x", "--id", `"1`},
		{"doctor", "--name", `"check`}, {"run", `"zero\x00byte"`, "true"},
	} {
		out, code := execute(t, append([]string{"--redis", "redis://127.0.0.1:1"}, args...)...)
		assert.Equal(t, exitUsage, code, strings.Join(args, " "))
		assert.NotContains(t, out, "refused", "nothing was sent")
	}
}
