package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

// A quick run measures every contender in every situation, through a relay where there are relays. No time is asserted.
func TestAQuickRunMeasuresEverything(t *testing.T) {
	out := t.TempDir()
	s, err := parse([]string{"-quick", "-out", out, "-at", "300us"}, io.Discard)
	require.NoError(t, err)
	if !distance.Available {
		s.at = []time.Duration{0}
	}
	var printed strings.Builder
	require.NoError(t, run(t.Context(), t, s, &printed, io.Discard))

	text, err := os.ReadFile(filepath.Join(out, "raw.json"))
	require.NoError(t, err)
	var raw report.Raw
	require.NoError(t, json.Unmarshal(text, &raw))
	require.NotEmpty(t, raw.PostgreSQL)
	all := situations(s.scale)
	require.Len(t, raw.Scenarios, len(all))
	for i, result := range raw.Scenarios {
		one := all[i]
		require.Equal(t, one.ID, result.ID)
		require.Contains(t, printed.String(), one.Title)
		require.Len(t, result.Verdicts, len(one.Judge(nil, 0)))
		for _, name := range one.Contenders {
			for _, c := range one.Columns {
				require.Len(t, scenario.Values(result.Samples, name, c.Figure), 1, "%s: %s: %s", one.ID, name, c.Figure)
			}
		}
	}
	for _, name := range []string{"table.txt", "summary.md"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		require.Contains(t, string(text), all[0].Title)
	}
}

func TestABadFlagIsAnError(t *testing.T) {
	_, err := parse([]string{"-at", "near"}, io.Discard)
	require.Error(t, err)
	_, err = parse([]string{"-nonsense"}, io.Discard)
	require.Error(t, err)
}
