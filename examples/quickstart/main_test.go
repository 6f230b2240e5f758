package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The quickstart is what a newcomer runs first, so the test runs it unchanged, on every kind of Redis that its
// documentation names.
func TestQuickstart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "quickstart")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, url := range map[string]func(t *testing.T) string{
		"embedded": func(*testing.T) string { return "" },
		"single node": func(t *testing.T) string {
			return "redis://" + redistest.Shared(t).Addr()
		},
		"cluster": func(t *testing.T) string {
			addrs := redistest.Cluster(t, 3).Addrs()
			return "redis://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
		},
		"sentinel": func(t *testing.T) string {
			o := redistest.Sentinel(t).Options()
			return "redis://" + o.SentinelAddrs[0] + "?master_name=" + o.MasterName
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Env = append(cmd.Environ(), urlEnv+"="+url(t))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "Everything was as it should be")
			require.NotContains(t, string(out), "NOT SO")
		})
	}
}
