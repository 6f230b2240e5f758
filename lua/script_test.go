package lua

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sources returns every file that is embedded.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	names, err := fs.Glob(files, "*.lua")
	require.NoError(t, err)
	for _, name := range names {
		text, err := files.ReadFile(name)
		require.NoError(t, err)
		found[name] = string(text)
	}
	require.NotEmpty(t, found)
	return found
}

// expand drops lines by how they begin, which is right only without these.
func TestSourcesHaveNoLongBrackets(t *testing.T) {
	for name, text := range sources(t) {
		for _, bracket := range []string{"[[", "]]", "[=", "]=", "\\\n"} {
			require.NotContains(t, text, bracket, name)
		}
	}
}

func TestSourcesSayWhatTheyTake(t *testing.T) {
	for name, text := range sources(t) {
		wanted := []string{"-- KEYS[", "-- ARGV[", "-- Returns ", "ublishes "}
		if strings.HasPrefix(name, "fragment_") {
			wanted = []string{"-- Fragment: ", "-- In: ", "-- Out: ", "-- Calls: "}
		}
		for _, want := range wanted {
			require.Contains(t, text, want, name)
		}
	}
}

func TestExpand(t *testing.T) {
	source := expand("acquire.lua")
	for line := range strings.Lines(source) {
		require.NotEmpty(t, strings.TrimSpace(line))
		require.False(t, strings.HasPrefix(strings.TrimSpace(line), "--"), line)
	}
	for _, part := range []string{"local lock, token", "'HLEN'", "'KEEPTTL'", "return {1, fence, 0, now, spare}"} {
		require.Equal(t, 1, strings.Count(source, part), part)
	}
	require.Panics(t, func() { expand("no such file.lua") })
}

// Every number that a script makes goes into text with all its digits.
func TestScriptsLeaveNoNumberToFormat(t *testing.T) {
	for name, text := range sources(t) {
		require.NotContains(t, text, "tostring", name)
		for line := range strings.Lines(text) {
			if strings.Contains(line, "redis.call('SET'") {
				require.Contains(t, line, "token, text", name)
			}
		}
	}
}
