package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

// TestAQuickRunMeasuresEverything runs every scenario with every contender, and asserts no time.
func TestAQuickRunMeasuresEverything(t *testing.T) {
	out := t.TempDir()
	var table strings.Builder
	require.NoError(t, run(t.Context(), []string{"-quick", "-out", out}, &table, io.Discard))

	text, err := os.ReadFile(filepath.Join(out, "raw.json"))
	require.NoError(t, err)
	var raw report.Raw
	require.NoError(t, json.Unmarshal(text, &raw))
	all := scenario.All()
	require.Len(t, raw.Scenarios, len(all))
	for i, s := range all {
		require.Contains(t, table.String(), s.Title)
		require.FileExists(t, filepath.Join(out, s.ID+".svg"))
		for _, name := range s.Contenders {
			values := scenario.Values(raw.Scenarios[i].Samples, name, s.Columns[0].Figure)
			require.Len(t, values, 1, "%s: %s", s.ID, name)
			require.Positive(t, values[0], "%s: %s", s.ID, name)
		}
		require.Len(t, raw.Scenarios[i].Verdicts, len(s.Goals))
	}
}

// TestAQuickRunMeasuresEveryCurve does the same for what grows.
func TestAQuickRunMeasuresEveryCurve(t *testing.T) {
	out := t.TempDir()
	var table strings.Builder
	require.NoError(t, run(t.Context(), []string{"-quick", "-scaling", "-out", out}, &table, io.Discard))
	require.FileExists(t, filepath.Join(out, "scaling.json"))
	for _, g := range scenario.Growths() {
		require.Contains(t, table.String(), g.Title)
		svg, err := os.ReadFile(filepath.Join(out, "scaling-"+g.ID+".svg"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, strings.Count(string(svg), "<circle"), len(g.Contenders), g.ID)
	}
}

func TestOnlyWhatIsWantedRuns(t *testing.T) {
	require.True(t, wanted("hot1x64", ""))
	require.True(t, wanted("hot1x64", "free,hot"))
	require.False(t, wanted("hot1x64", "free,own"))
}

func TestABadFlagIsAnError(t *testing.T) {
	require.Error(t, run(t.Context(), []string{"-nonsense"}, io.Discard, io.Discard))
}
