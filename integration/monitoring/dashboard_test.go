package monitoring

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/prometheus"
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
			expr := strings.NewReplacer("$__rate_interval", "5s", "$kind", ".*", "$class", ".*").Replace(target.Expr)
			assert.NotContains(t, expr, "$", panel.Title)
			queries = append(queries, query{panel.Title, expr})
		}
	}
	require.Greater(t, len(queries), 15)
	return queries
}

// play has an observer see calls, holds, failures, losses, renewals and commands of all outcomes until ctx ends.
func play(ctx context.Context, o *lock.Observer) {
	failures := []error{nil, lock.ErrBusy, lock.ErrUnavailable, nil, lock.ErrKeyConflict, context.Canceled}
	ends := []error{nil, lock.ErrUnavailable, &lock.LostError{Name: "order:1", Reason: lock.LossGone}}
	for i := 0; ctx.Err() == nil; i++ {
		for _, kind := range []lock.Kind{lock.KindLock, lock.KindFair, lock.KindSemaphore} {
			call := lock.Call{Name: "order:1", Kind: kind, Permits: 1}
			took := time.Duration(i%100) * 20 * time.Millisecond
			err := failures[i%len(failures)]
			o.End(o.Begin(ctx, call), call, took, err)
			if err == nil {
				o.Ended(o.Held(ctx, call), call, took, ends[i/3%len(ends)])
			}
			o.Renewed(call.Name, err)
			o.Command(lock.Command{Script: "acquire", Took: took / 100, Err: err})
		}
		time.Sleep(5 * time.Millisecond)
	}
}

type stats struct{}

func (stats) Stats() lock.Stats {
	return lock.Stats{Holds: 1, LeastValidity: 20 * time.Second, RenewalsDue: 1, ReleasesOwed: 1}
}

// serve serves the metrics of a program that does all that the metrics tell.
func serve(t *testing.T) (addr string) {
	t.Helper()
	metrics := prometheus.New(prometheus.Options{})
	registry := client.NewRegistry()
	require.NoError(t, registry.Register(metrics))
	t.Cleanup(metrics.Track(stats{}))
	ctx, cancel := context.WithCancel(t.Context())
	played := make(chan struct{})
	go func() {
		defer close(played)
		play(ctx, metrics.Observer())
	}()
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	t.Cleanup(func() {
		cancel()
		<-played
		server.Close()
	})
	return server.Listener.Addr().String()
}

// A panel whose query is wrong is empty, and nobody notices before an outage.
func TestEveryQueryOfTheDashboardFindsSomething(t *testing.T) {
	t.Parallel()
	addr := serve(t)
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
	// The alerts are evaluated as well, and one of them has reason to fire at once.
	redistest.Eventually(t, time.Minute, func() bool {
		found, err := classic.query(`ALERTS{alertname="HoldfastHoldLost", alertstate="firing"}`)
		return err == nil && len(found) > 0
	}, "holds are lost, and no alert fires")

	picture := filepath.Join(t.TempDir(), "metrics.svg")
	draw := exec.CommandContext(t.Context(), "go", "run", "./integration/monitoring/graphs",
		"-prometheus", "http://"+classic.addr, "-range", "20s", "-o", picture)
	draw.Dir = root
	said, err := draw.CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.FileExists(t, picture)
}
