package plugin_test

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfastvet"
	_ "github.com/holdfast-go/holdfast/holdfastvet/plugin"
)

// golangci-lint finds the linter by its name, gives it its settings, and gets the analyzer.
func TestTheLinterIsRegistered(t *testing.T) {
	open, err := register.GetPlugin("holdfast")
	require.NoError(t, err)
	for _, c := range []struct {
		settings any
		tests    string
	}{
		{nil, "false"}, {map[string]any{"tests": true}, "true"}, {map[string]any{}, "false"},
	} {
		linter, err := open(c.settings)
		require.NoError(t, err)
		analyzers, err := linter.BuildAnalyzers()
		require.NoError(t, err)
		require.Len(t, analyzers, 1)
		require.Same(t, holdfastvet.Analyzer, analyzers[0])
		require.Equal(t, c.tests, analyzers[0].Flags.Lookup("tests").Value.String())
		require.Equal(t, register.LoadModeTypesInfo, linter.GetLoadMode())
	}
	_, err = open(map[string]any{"unknown": true})
	require.Error(t, err)
}
