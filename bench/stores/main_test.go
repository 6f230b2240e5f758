package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

func TestMain(m *testing.M) {
	role.Play()
	os.Exit(m.Run())
}

// A quick run measures every contender of every store in every situation, through a relay where there are relays. No time
// is asserted.
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
	require.Len(t, raw.Stores, len(stores))
	results := raw.Scenarios
	known := make(map[string]bool)
	for _, one := range situations() {
		require.Contains(t, printed.String(), one.title)
		known[one.id] = true
		for _, on := range stores {
			wanted := on.scenario(one)
			if len(wanted.Contenders) == 0 {
				continue
			}
			require.NotEmpty(t, results, "%s on %s", one.id, on.name)
			require.Equal(t, []string{one.id, on.name}, []string{results[0].ID, results[0].Store})
			near := slices.DeleteFunc(slices.Clone(on.goals[one.id]), func(g scenario.Goal) bool { return g.From > s.at[0] })
			require.Len(t, results[0].Verdicts, len(near))
			for _, name := range wanted.Contenders {
				lead := one.columns[0].Figure
				require.Len(t, scenario.Values(results[0].Samples, name, lead), 1, "%s: %s: %s", one.id, name, lead)
			}
			results = results[1:]
		}
	}
	require.Empty(t, results)
	for _, on := range stores { // nothing is said of a situation that there is not
		for id := range on.entrants {
			require.True(t, known[id], id)
		}
		for id := range on.goals {
			require.True(t, known[id], id)
		}
	}
	for _, name := range []string{"table.txt", "summary.md"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		require.Contains(t, string(text), situations()[0].title)
	}
}

// What etcd publishes is counted by kind. A message of a stream counts as a call, and the end of a stream does not.
func TestCallsOfEtcdAreCounted(t *testing.T) {
	got, err := spentOf(strings.NewReader(`# HELP grpc_server_msg_received_total Total number of messages.
grpc_server_msg_received_total{grpc_method="LeaseKeepAlive",grpc_service="etcdserverpb.Lease",grpc_type="bidi_stream"} 5
grpc_server_handled_total{grpc_code="Canceled",grpc_method="LeaseKeepAlive",grpc_service="etcdserverpb.Lease",grpc_type="bidi_stream"} 2
grpc_server_handled_total{grpc_code="OK",grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"} 79
grpc_server_msg_received_total{grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"} 79
grpc_server_msg_received_total{grpc_method="Put",grpc_service="etcdserverpb.KV",grpc_type="unary"} 1
grpc_server_msg_sent_total{grpc_method="Put",grpc_service="etcdserverpb.KV",grpc_type="unary"} 1
etcd_disk_wal_write_bytes_total 1.5e+06
`))
	require.NoError(t, err)
	require.Equal(t, measure.Figures{calls: 83, renewing: 83, keepAlive: 3, reads: 79, logBytes: 1.5e6}, got)
}

func TestABadFlagIsAnError(t *testing.T) {
	_, err := parse([]string{"-at", "near"}, io.Discard)
	require.Error(t, err)
	_, err = parse([]string{"-store", "consul"}, io.Discard)
	require.Error(t, err)
	_, err = parse([]string{"-nonsense"}, io.Discard)
	require.Error(t, err)
}
