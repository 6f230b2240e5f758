// Package deploy has no program: it is what is deployed beside one. Its tests are those of the alerts.
package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/metrics"
	"github.com/holdfast-go/holdfast/internal/testkit/promtool"
)

// Each alert fires when it should, and not otherwise: by what was written down by hand, and by what was recorded of a
// real Redis, PostgreSQL, etcd and ZooKeeper that hung, refused and were slow. In these outages, programs that only try
// or wait for less than a scrape raised no alert at all (defect G34). The silence of an ordinary day is tested by
// package observe/prometheus.
func TestTheAlerts(t *testing.T) {
	t.Parallel()
	promtool.Run(t, "prometheus", "check", "rules", "rules.yml")
	recorded, err := filepath.Glob("prometheus/recorded/*_test.yml")
	require.NoError(t, err)
	require.Len(t, recorded, 12)
	promtool.Run(t, "prometheus", "test", "rules", "rules_test.yml")
	for i := range recorded {
		recorded[i] = filepath.Base(recorded[i])
	}
	promtool.Run(t, "prometheus/recorded", append([]string{"test", "rules"}, recorded...)...)
}

// An alert or a panel that asks for a name which nobody has is silent for ever.
func TestEveryNameIsOneOfTheScheme(t *testing.T) {
	t.Parallel()
	known := make(map[string]bool)
	for _, m := range metrics.All() {
		known[m.Prometheus()] = true
	}
	histogram := regexp.MustCompile(`_(bucket|count|sum)$`)
	files, err := filepath.Glob("prometheus/recorded/*.yml")
	require.NoError(t, err)
	files = append(files, "prometheus/rules.yml", "prometheus/rules_test.yml", "grafana/holdfast.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`\bholdfast_\w+`).FindAllString(string(text), -1) {
			assert.True(t, known[histogram.ReplaceAllString(name, "")], "%s: %s", file, name)
		}
	}
}

// The page has each metric with its two names, its labels and its unit.
func TestThePageHasTheScheme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	for _, m := range metrics.All() {
		row := "| `" + m.Prometheus() + "` | `" + m.Telemetry() + "` | "
		at := strings.Index(string(text), row)
		if !assert.GreaterOrEqual(t, at, 0, row) {
			continue
		}
		line, _, _ := strings.Cut(string(text)[at:], "\n")
		assert.Contains(t, line, "| `"+strings.Join(m.Labels, "`, `")+"` |")
		assert.Contains(t, line, " "+m.Unit+" |")
	}
}
