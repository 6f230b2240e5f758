//go:build unix && !aix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// nested are the arguments of runs within one another, and then of a command. Each run has the flags of one element.
func nested(t *testing.T, runs [][]string, command ...string) (args []string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	for i, flags := range runs {
		if i > 0 {
			args = append(args, self)
		}
		args = append(append(append(args, "run"), flags...), "--")
	}
	return append(args, command...)
}

// A run that would wait for a run around it, which waits for it, ends at once (defect G54).
func TestARunDoesNotWaitForTheRunAroundIt(t *testing.T) {
	t.Parallel()
	x, y := redistest.Key(t)+"x", redistest.Key(t)+"y"
	for what, test := range map[string]struct {
		runs [][]string
		want int
	}{
		"the same lock":             {[][]string{{x + "1"}, {x + "1"}}, 75},
		"with another between":      {[][]string{{x + "2"}, {y + "2"}, {x + "2"}}, 75},
		"without waiting":           {[][]string{{x + "3"}, {"-n", "-E", "9", x + "3"}}, 9},
		"a fair one":                {[][]string{{"--kind", "fair", x + "4"}, {"--kind", "fair", x + "4"}}, 75},
		"a fair one's plain":        {[][]string{{"--kind", "fair", x + "5"}, {x + "5"}}, 75},
		"a writer":                  {[][]string{{"--kind", "write", x + "6"}, {"--kind", "write", x + "6"}}, 75},
		"a reader of the writer's":  {[][]string{{"--kind", "write", x + "7"}, {"--kind", "read", x + "7"}}, 75},
		"a writer of the reader's":  {[][]string{{"--kind", "read", x + "8"}, {"--kind", "write", x + "8"}}, 75},
		"a reader of the reader's":  {[][]string{{"--kind", "read", x + "9"}, {"--kind", "read", x + "9"}}, 75},
		"the only permit":           {[][]string{{"--kind", "sem:1", x + "10"}, {"--kind", "sem:1", x + "10"}}, 75},
		"one permit of two":         {[][]string{{"--kind", "sem:2", x + "11"}, {"--kind", "sem:2", x + "11"}}, 0},
		"another lock":              {[][]string{{x + "12"}, {y + "12"}}, 0},
		"another prefix":            {[][]string{{x + "13"}, {"--prefix", "p:", x + "13"}}, 0},
		"the name with that prefix": {[][]string{{"p:" + x + "14"}, {"--prefix", "p:", x + "14"}}, 75},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := prepare(t, addr(t), nested(t, test.runs, "echo", "done")...)
			assert.Equal(t, test.want, h.run(), h.err.String())
			if test.want == 0 {
				assert.Equal(t, "done\n", h.out.String())
				return
			}
			assert.Empty(t, h.out.String())
			assert.Contains(t, h.err.String(), "a holdfast run around this one")
			assert.Equal(t, 1, strings.Count(h.err.String(), "\n"), "one line: %s", h.err.String())
		})
	}
}

// With --join a command runs under the hold of the run around it, and is told that hold's numbers; the run between has
// others. Where no run around it holds the lock, it is taken (defect G54).
func TestARunJoinsTheRunAroundIt(t *testing.T) {
	t.Parallel()
	x, y := redistest.Key(t)+"x", redistest.Key(t)+"y"
	const numbers = `echo "$HOLDFAST_NAME $HOLDFAST_ID [$HOLDFAST_FENCE]"; `
	for what, test := range map[string]struct {
		outer, inner []string
		want         int
		says         string
	}{
		"the same lock":         {[]string{x + "1"}, []string{"--join", x + "1"}, 0, ""},
		"a fair one":            {[]string{"--kind", "fair", x + "2"}, []string{"--join", "--kind", "fair", x + "2"}, 0, ""},
		"a reader its writer":   {[]string{"--kind", "write", x + "3"}, []string{"--join", "--kind", "read", x + "3"}, 0, ""},
		"a reader a reader":     {[]string{"--kind", "read", x + "4"}, []string{"--join", "--kind", "read", x + "4"}, 0, ""},
		"a writer its reader":   {[]string{"--kind", "read", x + "5"}, []string{"--join", "--kind", "write", x + "5"}, 75, "reading only"},
		"a permit":              {[]string{"--kind", "sem:2", x + "6"}, []string{"--join", "--kind", "sem:2", x + "6"}, 0, ""},
		"with a time to retain": {[]string{x + "7"}, []string{"--join", "--min-hold", "1s", x + "7"}, 64, "--min-hold"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			require.NoError(t, err)
			inner := nested(t, [][]string{{"--kind", "sem:99", y}, test.inner}, "sh", "-c", numbers+"exit 7")
			h := prepare(t, addr(t), nested(t, [][]string{test.outer},
				append([]string{"sh", "-c", numbers + `exec "$@"`, "sh", self}, inner...)...)...)
			if test.want != 0 {
				assert.Equal(t, test.want, h.run(), h.err.String())
				assert.Contains(t, h.err.String(), test.says)
				return
			}
			assert.Equal(t, 7, h.run(), h.err.String())
			told := strings.Split(strings.TrimSpace(h.out.String()), "\n")
			require.Len(t, told, 2)
			assert.Equal(t, told[0], told[1])
		})
	}
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		h := prepare(t, addr(t), "run", "--join", x+"8", "--", "sh", "-c", `echo "$HOLDFAST_NAME"`)
		require.Zero(t, h.run(), h.err.String())
		assert.Equal(t, x+"8\n", h.out.String())
	})
}

// A command that joined ends with the hold of the run around it (defect G54).
func TestACommandThatJoinedEndsWithTheHold(t *testing.T) {
	t.Parallel()
	client, name := waiter(t, nil), redistest.Key(t)
	h := prepare(t, addr(t), nested(t, [][]string{{"--lease", "3s", name}, {"--join", name}}, "sh", "-c", stubborn)...)
	h.start().awaitPids(stubbornProcesses)
	require.NoError(t, rlock.New(client, name).Break(t.Context()))
	assert.Equal(t, 74, h.wait(), h.err.String())
	assert.Empty(t, h.living())
}
