package main

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const style = "extends: substitution\nswap:\n  '\\bcrowds?\\b': \"'waiters'\"\n  '\\bgoes by\\b': \"'uses'\"\n"

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, file, source string
		want               []string
	}{
		{"no string", "a/a.go", "package a // a crowd\n", nil},
		{"an error", "a/a.go", "package a\n\nvar x = \"the Crowd goes by\"\n", []string{
			`a/a.go:3:9: write 'waiters', not "Crowd"`, `a/a.go:3:9: write 'uses', not "goes by"`}},
		{"over two lines", "a/a.go", "package a\n\nvar x = `it\ngoes by`\n", []string{
			`a/a.go:3:9: write 'uses', not "goes by"`}},
		{"part of a word", "a/a.go", "package a\n\nvar x = \"a crowd10\"\n", nil},
		{"a name", "a/a.go", "package a\n\nvar x = \"crowd\"\n", nil},
		{"a test", "a/a_test.go", "package a\n\nvar x = \"a crowd\"\n", nil},
		{"test data", "testdata/a.go", "package a\n\nvar x = \"a crowd\"\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := check(fstest.MapFS{
				".vale/holdfast/Words.yml": {Data: []byte(style)},
				tt.file:                    {Data: []byte(tt.source)},
			})
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestRulesThatCannotBeReadAreErrors(t *testing.T) {
	for _, text := range []string{"", "extends: existence\n", "\nswap:\n  crowd: waiters\n", "\nswap:\n  '(': \"x\"\n"} {
		_, err := check(fstest.MapFS{".vale/holdfast/Words.yml": {Data: []byte(text)}})
		require.Error(t, err, text)
	}
	_, err := check(fstest.MapFS{})
	require.Error(t, err)
}

// The styles of this module can be read, and each of their rules finds something: a sentence of the kind that it bans.
func TestEachRuleOfOursFindsItsSentence(t *testing.T) {
	rules, err := readRules(os.DirFS("../.."))
	require.NoError(t, err)
	sentences := []string{
		"Who waits is woken.", "who reads already may go on", "a lock that is had", "What it does goes by the context.", "nobody believes in a hold",
		"A name may not be empty.", "two at one time", "it is told so", "it tells of a loss", "to tell them apart",
		"it goes over to reading", "it sees to it that", "given up in mid-air", "a fault that it brings about",
		"they meet out of the cold", "Redis has it no more", "the key is not there any more",
		"a crowd of readers", "the gang", "a letter", "the dog renews", "the kennel", "a hand-off",
		"it is handed over in memory", "it stands in line", "in simulated weather",
	}
	for _, rule := range rules {
		found := false
		for _, sentence := range sentences {
			found = found || rule.banned.MatchString(sentence)
		}
		require.True(t, found, "%v", rule.banned)
	}
	for _, sentence := range sentences {
		found := false
		for _, rule := range rules {
			found = found || rule.banned.MatchString(sentence)
		}
		require.True(t, found, sentence)
	}
}
