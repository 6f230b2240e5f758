package monitoring

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/promtool"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	root  = "../.."
	rules = root + "/deploy/prometheus/rules.yml"
)

// monitor is a running Prometheus.
type monitor struct {
	t    *testing.T
	addr string
}

// startPrometheus starts one that scrapes the address several times a second, and has the rules of deploy. Debian's
// keeps either the classic buckets of a histogram or, with a flag, its native form.
func startPrometheus(t *testing.T, scraped string, flags ...string) *monitor {
	t.Helper()
	path := promtool.Find(t, "prometheus")
	dir := t.TempDir()
	rulesFile, err := filepath.Abs(rules)
	require.NoError(t, err)
	config := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 1s}\n"+
		"rule_files: [%q]\nscrape_configs: [{job_name: shop, static_configs: [{targets: [%q]}]}]\n", rulesFile, scraped)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	m := &monitor{t, freeAddress(t)}
	cmd := exec.Command(path, append(flags, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--web.listen-address="+m.addr, "--storage.tsdb.path="+filepath.Join(dir, "data"))...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed, as intended
		assert.NoError(t, log.Close())
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s", said)
		}
	})
	redistest.Eventually(t, time.Minute, func() bool {
		_, err := m.get("/-/ready", nil)
		return err == nil
	}, "Prometheus is not ready")
	return m
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func (m *monitor) get(path string, query url.Values) (data json.RawMessage, err error) {
	address := url.URL{Scheme: "http", Host: m.addr, Path: path, RawQuery: query.Encode()}
	answer, err := http.Get(address.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if path == "/-/ready" {
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s", answer.Status)
		}
		return nil, nil
	}
	var body struct {
		Error string
		Data  json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return nil, err
	}
	if body.Error != "" {
		return nil, fmt.Errorf("%s: %s", query.Get("query"), body.Error)
	}
	return body.Data, nil
}

// sample is one series of an answer.
type sample struct {
	Metric map[string]string
	Value  [2]any // when, and what, as text
}

// query evaluates an expression. Series whose value is no number are left out.
func (m *monitor) query(expr string) (found []sample, err error) {
	data, err := m.get("/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		return nil, err
	}
	var vector struct{ Result []sample }
	if err := json.Unmarshal(data, &vector); err != nil {
		return nil, err
	}
	for _, s := range vector.Result {
		if s.Value[1] != "NaN" {
			found = append(found, s)
		}
	}
	return found, nil
}
