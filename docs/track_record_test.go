package docs_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/gofiles"
)

// The columns of the table of defects, which has one more before them: what was wrong, and in which package.
const (
	consequence = iota + 2
	foundBy
	fixedIn
	firstBad
	shownBy
	columns
)

const openDefect = "**open**"

var (
	commits = regexp.MustCompile("^`[0-9a-f]{7,40}`(?:, `[0-9a-f]{7,40}`)*$")
	summary = regexp.MustCompile(`(?m)^(\d+) defects, of which (\d+) (?:is|are) open\.`)
)

// The track record is true: the figures of its summary are those of its rows, the gravest consequence comes first, each
// commit is a hash, and each test exists in its package.
func TestTheTrackRecordIsTrue(t *testing.T) {
	t.Parallel()
	page := pages(t)["docs/track-record.md"]
	found := tables(page)
	require.Len(t, found, 3, "consequences, ways to find a defect, defects")
	consequences, ways, defects := found[0], found[1], found[2]
	require.Greater(t, len(defects), 100)
	exists := testsOfTheTree(t)
	open := 0
	for _, row := range defects {
		require.Len(t, row, columns, "%s", row)
		if row[fixedIn] == openDefect {
			open++
		} else {
			assert.Regexp(t, commits, row[fixedIn], row[0])
		}
		if row[firstBad] != "–" {
			assert.Regexp(t, commits, row[firstBad], row[0])
		}
		named := testsOfACell(t, row[shownBy])
		assert.NotEmpty(t, named, row[0])
		for _, test := range named {
			assert.True(t, exists[test], "%s: there is no %s", row[0], test)
		}
	}
	figures := summary.FindStringSubmatch(page)
	require.NotNil(t, figures)
	assert.Equal(t, []string{strconv.Itoa(len(defects)), strconv.Itoa(open)}, figures[1:])
	requireCounts(t, consequences, defects, consequence)
	requireCounts(t, ways, defects, foundBy)
	requireOrder(t, consequences, defects)
}

// A defect is open here if it is open in the list of regressions, which its tests say as well.
func TestTheTrackRecordSaysWhichDefectsAreOpen(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	listed, told := []string{}, []string{}
	for _, table := range tables(texts["integration/REGRESSIONS.md"]) {
		for _, row := range table {
			if tests, is := strings.CutPrefix(row[len(row)-1], openDefect+": "); is {
				listed = append(listed, testsOfACell(t, tests)...)
			}
		}
	}
	for _, table := range tables(texts["docs/track-record.md"]) {
		for _, row := range table {
			if len(row) == columns && row[fixedIn] == openDefect {
				told = append(told, testsOfACell(t, row[shownBy])...)
			}
		}
	}
	require.ElementsMatch(t, listed, told)
}

// tables are the tables of a text: the rows below each header, as their cells.
func tables(text string) (found [][][]string) {
	var rows [][]string
	for line := range strings.Lines(text + "\n\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
			continue
		}
		if len(rows) > 2 {
			found = append(found, rows[2:]) // after the header and the line below it
		}
		rows = nil
	}
	return found
}

// requireCounts compares a table of the summary with the rows that it counts: it has each value of their column, and in
// how many rows that is.
func requireCounts(t *testing.T, table, defects [][]string, column int) {
	t.Helper()
	want, got := make(map[string]string), make(map[string]string)
	counts := make(map[string]int)
	for _, row := range defects {
		counts[row[column]]++
		want[row[column]] = strconv.Itoa(counts[row[column]])
	}
	for _, row := range table {
		got[row[0]] = row[len(row)-1]
	}
	require.Equal(t, want, got)
}

// requireOrder compares the order of the rows with that of the summary, in which the gravest consequence comes first.
func requireOrder(t *testing.T, consequences, defects [][]string) {
	t.Helper()
	var want, got []string
	for _, row := range consequences {
		want = append(want, row[0])
	}
	for _, row := range defects {
		if len(got) == 0 || got[len(got)-1] != row[consequence] {
			got = append(got, row[consequence])
		}
	}
	require.Equal(t, want, got)
}

// testsOfACell are the tests that a cell names after their folders, as folder and name.
func testsOfACell(t *testing.T, cell string) (tests []string) {
	t.Helper()
	folder := ""
	for _, word := range quoted.FindAllStringSubmatch(cell, -1) {
		if !strings.HasPrefix(word[1], "Test") {
			folder = word[1]
			continue
		}
		require.NotEmpty(t, folder, "in which folder is %s?", word[1])
		tests = append(tests, folder+" "+word[1])
	}
	return tests
}

// testsOfTheTree has every test of the repository, as folder and name.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	tests := make(map[string]bool)
	require.NoError(t, gofiles.EachTest(os.DirFS(".."), func(f gofiles.File) {
		for name := range f.Tests() {
			tests[name] = true
		}
	}))
	require.Greater(t, len(tests), 1000)
	return tests
}
