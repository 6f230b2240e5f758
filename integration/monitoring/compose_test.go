package monitoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/holdfast-go/holdfast/internal/testkit/promtool"
)

// Containers are not started here. What the file mounts is there, and what it runs too.
func TestTheComposeFileNamesWhatExists(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/deploy/compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Image   string
			Command []string
			Volumes []string
		}
		Volumes map[string]any
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	for name, service := range file.Services {
		assert.NotEmpty(t, service.Image, name)
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(source, ".") {
				_, err := os.Stat(filepath.Join(root, "deploy", source))
				assert.NoError(t, err, name)
			} else {
				assert.Contains(t, file.Volumes, source, name)
			}
		}
	}
	sells := file.Services["boxoffice"].Command
	require.Greater(t, len(sells), 3)
	assert.Equal(t, []string{"go", "run"}, sells[:2])
	_, err = os.Stat(filepath.Join(root, sells[2]))
	require.NoError(t, err)
}

// The configuration is for Prometheus 3. Debian's promtool knows all of it but one line.
func TestTheConfigurationOfThePrometheusInTheComposeFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/deploy/prometheus/prometheus.yml")
	require.NoError(t, err)
	const ofVersion3 = "    always_scrape_classic_histograms: true\n"
	require.Contains(t, string(text), ofVersion3)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, []byte(strings.Replace(string(text), ofVersion3, "", 1)), 0o600))
	alerts, err := os.ReadFile(rules)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), alerts, 0o600))
	promtool.Run(t, dir, "check", "config", config)
}
