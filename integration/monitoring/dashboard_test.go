package monitoring

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// query is one of the dashboard, and the panel that shows it.
type query struct{ panel, expr string }

func dashboard(t *testing.T) (queries []query) {
	t.Helper()
	text, err := os.ReadFile(root + "/deploy/grafana/holdfast.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			// As Grafana fills them in, for all kinds and classes.
			expr := strings.NewReplacer(
				"$__rate_interval", "5s", "$store", ".*", "$kind", ".*", "$class", ".*",
			).Replace(target.Expr)
			assert.NotContains(t, expr, "$", panel.Title)
			queries = append(queries, query{panel.Title, expr})
		}
	}
	require.Greater(t, len(queries), 15)
	return queries
}

// A panel whose query is wrong is empty, and nobody notices before an outage.
func TestEveryQueryOfTheDashboardFindsSomething(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	addr := openOffice(t, buildOffice(t), proxy.Addr())
	classic := startPrometheus(t, addr)
	native := startPrometheus(t, addr, "--enable-feature=native-histograms")
	for _, q := range dashboard(t) {
		monitor := classic
		if strings.Contains(q.expr, "_seconds{") && strings.Contains(q.expr, "histogram_quantile") {
			monitor = native
		}
		var found []sample
		var err error
		redistest.Eventually(t, time.Minute, func() bool {
			found, err = monitor.query(q.expr)
			return len(found) > 0
		}, q.panel+": "+q.expr)
		require.NoError(t, err, q.panel)
	}
	cutRenewals(t, proxy, 3)
	obstruct(t, server.Addr())
	for _, expr := range []string{
		// The inspector breaks the lock of the till, of which an alert speaks at once.
		`ALERTS{alertname="HoldfastHoldLost", alertstate="firing", kind="rlock", class="till:*", reason="gone"}`,
		`holdfast_failures_total{reason="busy", kind="rlock", class="hall:*:clean"} > 0`,
		`holdfast_failures_total{reason="cancelled", kind="fair", class="show:*"} > 0`,
		`holdfast_renewals_total{result="error", class="till:*"} > 0`,
		`holdfast_renewals_total{result="ok", class="till:*"} > 0`,
		`holdfast_command_duration_seconds_count{script="renew", result="error"} > 0`,
		`holdfast_command_duration_seconds_count{script="fair_acquire", result="ok"} > 0`,
	} {
		redistest.Eventually(t, time.Minute, func() bool {
			found, err := classic.query(expr)
			return err == nil && len(found) > 0
		}, "it happens, and Prometheus does not know it: "+expr)
	}

	picture := filepath.Join(t.TempDir(), "metrics.svg")
	draw := exec.CommandContext(t.Context(), "go", "run", "./integration/monitoring/graphs",
		"-prometheus", "http://"+classic.addr, "-range", "20s", "-o", picture)
	draw.Dir = root
	said, err := draw.CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.FileExists(t, picture)
}
