package legible_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/legible"
)

// A name reaches those who read UTF-8, each as another text, and comes back (defect G53).
func TestANameComesBack(t *testing.T) {
	for name, want := range map[string]string{
		"order:1":              "order:1",
		"a name with spaces":   "a name with spaces",
		`C:\x41`:               `C:\x41`,
		"file:café":            "file:café",
		"file:caf\xe9":         `"file:caf\xe9"`,
		`"file:caf\xe9"`:       `"\"file:caf\\xe9\""`,
		"a\x00b":               `"a\x00b"`,
		"two\nlines":           `"two\nlines"`,
		`"`:                    `"\""`,
		"the unknown \ufffd":   "the unknown \ufffd",
		"the unknown \xef\xbf": `"the unknown \xef\xbf"`,
		"":                     "",
	} {
		assert.Equal(t, want, legible.Name(name))
		back, err := legible.Parse(legible.Name(name))
		require.NoError(t, err)
		assert.Equal(t, name, back)
	}
	_, err := legible.Parse(`"order`)
	assert.ErrorContains(t, err, `"\"order"`)
}

func FuzzNamesComeBack(f *testing.F) {
	f.Add("caf\xe9")
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, name string) {
		text := legible.Name(name)
		require.True(t, utf8.ValidString(text))
		back, err := legible.Parse(text)
		require.NoError(t, err)
		require.Equal(t, name, back)
		require.True(t, utf8.ValidString(legible.Sentence(name)))
	})
}

func TestASentenceKeepsWhatCanBeRead(t *testing.T) {
	assert.Equal(t, "ok é �", legible.Sentence("ok é �"))
	assert.Equal(t, `caf\xe9 é \xff\xfe�`, legible.Sentence("caf\xe9 é \xff\xfe�"))
}
