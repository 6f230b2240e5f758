package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/trips"
)

func TestMain(m *testing.M) {
	if _, err := redisVersion(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// brief is a run of everything that takes no longer than it has to. It returns what was printed, and what
// was written as raw figures.
func brief(t *testing.T, out, rawName string, args ...string) (string, report.Raw) {
	t.Helper()
	var printed strings.Builder
	require.NoError(t, run(t.Context(), t, append([]string{"-quick", "-out", out}, args...), &printed, io.Discard))
	text, err := os.ReadFile(filepath.Join(out, rawName))
	require.NoError(t, err)
	var raw report.Raw
	require.NoError(t, json.Unmarshal(text, &raw))
	require.NotEmpty(t, raw.Redis)
	require.NotEmpty(t, raw.Took)
	return printed.String(), raw
}

// TestAQuickRunMeasuresEverything runs every scenario with every contender, at a distance where there is one. It asserts
// no time, and no figure that a busy machine can change.
func TestAQuickRunMeasuresEverything(t *testing.T) {
	place := "300us"
	if !distance.Available {
		place = "0"
	}
	raw := quick(t, "", place)
	checkCounts(t, raw)
	checkTrips(t, raw.Trips)
}

// What is measured at two distances stands in one table.
func TestAQuickRunAtTwoDistances(t *testing.T) {
	quick(t, "free,multi3", "300us,0")
}

// quick runs all scenarios, or some, and looks at what they measured and wrote.
func quick(t *testing.T, only, at string) report.Raw {
	t.Helper()
	out := t.TempDir()
	printed, raw := brief(t, out, "raw.json", "-only", only, "-at", at)
	places, err := distances(at, false)
	require.NoError(t, err)
	if !distance.Available && places[0] > 0 {
		places = places[1:]
		require.Contains(t, printed, "0.3 ms is not measured")
	}
	var set scenario.Setting
	if !strings.Contains(printed, "Redisson is not measured") {
		set.Java = &javalib.Program{}
	}
	if !strings.Contains(printed, "etcd is not measured") {
		set.Etcd = t
	}
	var all []scenario.Scenario
	for _, s := range scenario.All(set) {
		if wanted(s.ID, only) {
			all = append(all, s)
		}
	}
	n := 0
	for _, s := range all {
		for part, d := range s.Distances(places) {
			require.Greater(t, len(raw.Scenarios), n)
			checkResult(t, s, d, raw.Scenarios[n], printed)
			drawing := report.PlotName(s.ID, part, d) + ".svg"
			require.GreaterOrEqual(t, drawn(t, filepath.Join(out, drawing))["rect"], len(s.Contenders))
			n++
		}
	}
	require.Len(t, raw.Scenarios, n)
	table, err := os.ReadFile(filepath.Join(out, "table.txt"))
	require.NoError(t, err)
	require.Equal(t, printed, string(table))
	summary, err := os.ReadFile(filepath.Join(out, "summary.md"))
	require.NoError(t, err)
	checkSummary(t, string(summary), all, places)
	return raw
}

// checkResult looks for a figure of every contender in every column.
func checkResult(t *testing.T, s scenario.Scenario, at time.Duration, result report.Result, printed string) {
	t.Helper()
	require.Equal(t, s.ID, result.ID)
	require.Equal(t, distance.Name(at), result.Distance)
	require.Contains(t, printed, s.Title)
	for _, name := range s.Contenders {
		lead := scenario.Values(result.Samples, name, s.Columns[0].Figure)
		require.Len(t, lead, 1, "%s: %s", s.ID, name)
		require.NotZero(t, lead[0], "%s: %s", s.ID, name)
		for _, c := range s.Columns {
			switch {
			case name == contender.RedsyncFailFast && strings.HasPrefix(c.Figure, "frozen"):
				continue // it gets no lock then, which is what that row is to show
			case name == contender.Redisson && slices.Contains(measure.OfThisProcess, c.Figure):
				continue
			}
			require.NotEmpty(t, scenario.Values(result.Samples, name, c.Figure), "%s: %s: %s", s.ID, name, c.Figure)
		}
	}
	require.Len(t, result.Verdicts, len(s.Judge(nil, at)))
}

// checkSummary looks for a row of each scenario, as wide as the table's head, and of each goal that was missed.
func checkSummary(t *testing.T, text string, all []scenario.Scenario, places []time.Duration) {
	t.Helper()
	text, missed, _ := strings.Cut(text, "\n\n| missed |")
	var rows []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		}
	}
	open := 0
	require.Len(t, rows, len(all)+2)
	for i, row := range rows {
		require.Equal(t, strings.Count(rows[0], "|"), strings.Count(row, "|"), row)
		if i >= 2 {
			s := all[i-2]
			require.Contains(t, row, "(`"+s.ID+"`)")
			goals := 0
			for _, at := range s.Distances(places) {
				goals += len(s.Judge(nil, at))
			}
			cells := strings.Split(strings.TrimSpace(row), " | ")
			var met, of int
			_, err := fmt.Sscanf(cells[len(cells)-1], "%d of %d |", &met, &of)
			require.NoError(t, err, row)
			require.Equal(t, goals, of, row)
			open += of - met
		}
	}
	require.Equal(t, open, strings.Count(missed, "\n| `"))
}

// checkCounts looks at what one goroutine sends, which no load of the machine changes. The last pair may
// end too late to be counted, and then what it sent is one pair's more.
func checkCounts(t *testing.T, raw report.Raw) {
	t.Helper()
	for _, c := range []struct {
		id, contender string
		sends         float64
	}{
		{"free", contender.Ours, 2},
		{"free", contender.Scripts, 2},
		{"free", contender.SetNX, 2},
		{"multi3", contender.OursMulti, 2},
	} {
		for _, result := range raw.Scenarios {
			if result.ID != c.id {
				continue
			}
			sends := scenario.Values(result.Samples, c.contender, measure.Sends)[0]
			rate := scenario.Values(result.Samples, c.contender, measure.Rate)[0]
			pairs := max(rate*scenario.Quick.Slice.Seconds(), 1)
			require.GreaterOrEqual(t, sends, c.sends-0.001, "%s: %s", c.id, c.contender)
			require.LessOrEqual(t, sends, c.sends*(1+1/pairs)+0.001, "%s: %s", c.id, c.contender)
		}
	}
}

// checkTrips looks at what is the same on any machine: where nothing is handed over, so that nobody polls.
func checkTrips(t *testing.T, rows []trips.Row) {
	t.Helper()
	if !distance.Available {
		return
	}
	operations := trips.Operations()
	require.Len(t, rows, len(operations))
	for i, row := range rows {
		require.Equal(t, operations[i].Title, row.Operation)
		switch ours := row.Counts[contender.Ours]; len(ours) {
		case 2:
			least := map[string][]int{"0 + 0": {0, 0}, "1 + 1": {1, 1}}[row.Least]
			require.Equal(t, least, ours, row.Operation)
		default:
			require.LessOrEqual(t, ours[0], 3, row.Operation)
		}
	}
	require.Equal(t, []int{1, 1}, rows[0].Counts[contender.Bsm])
	require.Equal(t, []int{1, 1}, rows[0].Counts[contender.Redsync])
}

// drawn counts the elements of a drawing, which has to be XML.
func drawn(t *testing.T, path string) map[string]int {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	count := map[string]int{}
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			require.Equal(t, 1, count["svg"], path)
			return count
		}
		require.NoError(t, err, path)
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
		}
	}
}

// TestAQuickRunMeasuresEveryCurve does the same for what grows.
func TestAQuickRunMeasuresEveryCurve(t *testing.T) {
	out := t.TempDir()
	printed, raw := brief(t, out, "scaling.json", "-scaling")
	all := scenario.Growths()
	require.Len(t, raw.Scenarios, len(all))
	for i, g := range all {
		require.Contains(t, printed, g.Title)
		for _, name := range g.Contenders {
			for _, c := range g.Columns {
				require.NotEmpty(t, scenario.Values(raw.Scenarios[i].Samples, name, c.Figure), "%s: %s: %s", g.ID, name, c.Figure)
			}
		}
		for n := range g.Drawn {
			name := "scaling-" + g.ID + []string{"", "-2"}[n] + ".svg"
			points := drawn(t, filepath.Join(out, name))["circle"]
			require.GreaterOrEqual(t, points, 2*len(g.Contenders), name)
		}
	}
	table, err := os.ReadFile(filepath.Join(out, "scaling.txt"))
	require.NoError(t, err)
	require.Equal(t, printed, string(table))
	tables, err := os.ReadFile(filepath.Join(out, "scaling.md"))
	require.NoError(t, err)
	require.Equal(t, len(all), strings.Count(string(tables), "\n|---|"))
}

func TestOnlyWhatIsWantedRuns(t *testing.T) {
	require.True(t, wanted("hot1x64", ""))
	require.True(t, wanted("hot1x64", "free,hot"))
	require.False(t, wanted("hot1x64", "free,own"))
}

func TestABadFlagIsAnError(t *testing.T) {
	require.Error(t, run(t.Context(), t, []string{"-nonsense"}, io.Discard, io.Discard))
	require.Error(t, run(t.Context(), t, []string{"-at", "1ms,near"}, io.Discard, io.Discard))
	require.Error(t, run(t.Context(), t, []string{"-at", "-1ms"}, io.Discard, io.Discard))
}
