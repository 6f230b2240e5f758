package integration_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/gofiles"
)

// regressionTables are the tables of REGRESSIONS.md: the word that comments name a number with, and the numbers
// of its rows, in order.
var regressionTables = []struct {
	title, word string
	numbers     []string
}{
	{"## Needs", "need", numbered("", 25)},
	{"## Bugs of peers", "bug", numbered("", 61)},
	{"## Defects", "defect", slices.Concat(
		numbered("A", 8), numbered("B", 23), numbered("C", 7), numbered("D", 16), numbered("E", 4))},
	{"## Defects of the second version", "defect", []string{
		"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15",
		"F16", "F17", "F18", "F19", "F20", "F21", "F22", "F23", "F24", "F25", "F26", "F27", "F28", "F29",
	}},
	{"## Defects of the third version", "defect", []string{
		"G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "G11", "G12", "G13", "G14", "G15", "G16", "G17",
		"G18", "G19", "G20", "G21", "G22", "G24", "G25", "G26", "G27", "G28", "G29", "G30", "G32", "G33", "G34",
		"G35", "G37", "G39", "G40", "G41", "G42", "G43", "G44", "G45", "G46", "G47", "G48", "G49", "G50", "G51", "G52",
		"G53", "G54", "G55", "G56", "G57", "G58", "G59", "G60", "G61", "G62", "G63", "G64", "G65", "G67", "G68",
		"G69", "G70", "G71", "G72", "G73",
	}},
}

var (
	regressionRow    = regexp.MustCompile(`^\| ([A-G]?\d+) \| (.+) \| (.+) \|$`)
	regressionQuoted = regexp.MustCompile("`([^`]+)`")
	regressionNamed  = regexp.MustCompile(`(?i)\b(need|bug|defect)s? ([A-G]?\d+(?:(?:, | and )[A-G]?\d+)*)`)
	regressionShown  = regexp.MustCompile(`opendefect\.Shows\(\w+, "([A-G]\d+)"`)
	regressionExcuse = regexp.MustCompile(`(not ours|documentation): \S`)
)

// numbered are the first n numbers that begin with prefix.
func numbered(prefix string, n int) []string {
	numbers := make([]string, n)
	for i := range numbers {
		numbers[i] = prefix + strconv.Itoa(i+1)
	}
	return numbers
}

// REGRESSIONS.md is true: it has a row for each need and each bug, the tests in it exist and say in their
// comments what they are for, and every number in a comment has a row with tests.
func TestTheRegressionListIsTrue(t *testing.T) {
	page, err := os.ReadFile("REGRESSIONS.md")
	require.NoError(t, err)
	comments := regressionComments(t)
	require.Greater(t, len(comments), 300, "these cannot be all tests")
	tested := make(map[string]bool) // numbers whose rows name tests
	for _, table := range regressionTables {
		_, rest, found := strings.Cut(string(page), table.title+"\n")
		require.True(t, found, table.title)
		section, _, _ := strings.Cut(rest, "\n## ")
		var rows []string
		for line := range strings.Lines(section) {
			row := regressionRow.FindStringSubmatch(strings.TrimSpace(line))
			if row == nil {
				continue
			}
			rows = append(rows, row[1])
			number := table.word + " " + row[1]
			tests := regressionTests(t, number, row[3])
			assert.True(t, len(tests) > 0 || regressionExcuse.MatchString(row[3]), "%s: no test, and no reason", number)
			for _, test := range tests {
				comment, exists := comments[test]
				assert.True(t, exists, "%s: there is no %s", number, test)
				assert.Contains(t, regressionNumbers(comment), number, "the comment of %s", test)
				tested[number] = true
			}
		}
		assert.Equal(t, table.numbers, rows, "%s: the rows are in order, none is left out", table.title)
	}
	for _, test := range slices.Sorted(maps.Keys(comments)) {
		for _, number := range regressionNumbers(comments[test]) {
			assert.True(t, tested[number], "%s names %s, for which the list has no row, or one without tests", test, number)
		}
	}
}

// regressionTests returns the tests that a row names, as folder and name.
func regressionTests(t *testing.T, number, cell string) []string {
	t.Helper()
	var tests []string
	folder := ""
	for _, quoted := range regressionQuoted.FindAllStringSubmatch(cell, -1) {
		word := quoted[1]
		if strings.HasPrefix(word, "Test") {
			require.NotEmpty(t, folder, "%s: in which folder is %s?", number, word)
			tests = append(tests, folder+" "+word)
		} else if info, err := os.Stat(filepath.Join("..", word)); err == nil && info.IsDir() {
			folder = word
		}
	}
	return tests
}

// regressionNumbers returns the numbers that a comment names, such as "bug 11".
func regressionNumbers(comment string) []string {
	var numbers []string
	for _, named := range regressionNamed.FindAllStringSubmatch(comment, -1) {
		for _, n := range regexp.MustCompile(`[A-G]?\d+`).FindAllString(named[2], -1) {
			numbers = append(numbers, strings.ToLower(named[1])+" "+n)
		}
	}
	return numbers
}

// What the list calls open, the tests declare open by package opendefect.
func TestTheRegressionListSaysWhichDefectsAreOpen(t *testing.T) {
	page, err := os.ReadFile("REGRESSIONS.md")
	require.NoError(t, err)
	listed, shown := make(map[string]bool), make(map[string]bool)
	for line := range strings.Lines(string(page)) {
		row := regressionRow.FindStringSubmatch(strings.TrimSpace(line))
		if row != nil && strings.HasPrefix(row[3], "**open**") {
			listed[row[1]] = true
		}
	}
	require.NoError(t, gofiles.EachTest(os.DirFS(".."), func(f gofiles.File) {
		for _, call := range regressionShown.FindAllSubmatch(f.Source, -1) {
			shown[string(call[1])] = true
		}
	}))
	assert.Equal(t, shown, listed)
}

// regressionComments returns the comment of every test in the tree, by folder and name, in one line each.
func regressionComments(t *testing.T) map[string]string {
	t.Helper()
	comments := make(map[string]string)
	require.NoError(t, gofiles.EachTest(os.DirFS(".."), func(f gofiles.File) {
		for name, test := range f.Tests() {
			comments[name] = strings.Join(strings.Fields(test.Doc.Text()), " ")
		}
	}))
	return comments
}
