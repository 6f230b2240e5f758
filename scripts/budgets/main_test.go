package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// function returns a function of that many lines.
func function(lines int) string {
	return "func f() {\n" + strings.Repeat("\tf()\n", lines-2) + "}\n"
}

func TestCheck(t *testing.T) {
	const header = "// Package a is one.\npackage a\n"
	long := header + strings.Repeat("// filler\n", 498)
	noComment := `a: no comment that begins with "Package" (or "Command")`

	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"file at the limit", map[string]string{"a/a.go": long}, nil},
		{"file over it", map[string]string{"a/a.go": long + "\n"},
			[]string{"a/a.go: 501 lines, more than 500"}},
		{"test file over it", map[string]string{"a/a.go": header, "a/a_test.go": long + "\n"}, nil},
		{"function at the limit", map[string]string{"a/a.go": header + function(60)}, nil},
		{"function over it", map[string]string{"a/a.go": header + function(61)},
			[]string{"a/a.go:3: f has 61 lines, more than 60"}},
		{"method over it, its comment not counted", map[string]string{
			"a/a.go": header + "type t int\n// f is.\n" +
				strings.Replace(function(61), "func ", "func (t) ", 1)},
			[]string{"a/a.go:5: f has 61 lines, more than 60"}},
		{"comment in another file", map[string]string{"a/a.go": "package a\n", "a/doc.go": header}, nil},
		{"no comment", map[string]string{"a/a.go": "package a\n"}, []string{noComment}},
		{"comment in a test file only", map[string]string{
			"a/a.go": "package a\n", "a/a_test.go": header}, []string{noComment}},
		{"comment of another form", map[string]string{"a/a.go": "// It is one.\npackage a\n"},
			[]string{noComment}},
		{"comment that names another package", map[string]string{
			"a/a.go": "// Package b is one.\npackage a\n"}, []string{noComment}},
		{"command", map[string]string{"a/main.go": "// Command a runs.\npackage main\n"}, nil},
		{"line at the limit", map[string]string{"a/a.go": header + "\t//" + strings.Repeat("ä", 114) + "\n"}, nil},
		{"line over it", map[string]string{"a/a.go": header + "\t//" + strings.Repeat("ä", 115) + "\n"},
			[]string{"a/a.go:3: 121 columns, more than 120"}},
		{"no package of ours", map[string]string{
			"testdata/a.go": "no Go at all", ".x/a.go": "", "_x/a.go": "", "vendor/a.go": ""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for name, source := range tt.files {
				tree[name] = &fstest.MapFile{Data: []byte(source)}
			}
			got, err := check(tree)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestCheckReportsWhatItCannotRead(t *testing.T) {
	tree := fstest.MapFS{"a/a.go": &fstest.MapFile{Data: []byte("package")}}
	_, err := check(tree)
	assert.ErrorContains(t, err, "a/a.go")
}
