// Command record records what a Prometheus finds while a Redis is away, as tests for promtool:
//
//	go run ./observe/prometheus/internal/record -o deploy/prometheus/recorded
//
// It starts a Redis, and for each outage three programs that lock behind netfault: one that only tries, one that waits
// briefly, and one that holds. All of them run at the same time, and in real time: a quarter of an hour. Each is
// scraped as a Prometheus would, and every series that the alerts read is written down, with the alerts that must fire
// then.
//
// Record anew, on a machine that has little else to do, when a metric, an alert or what a client counts has changed.
// The test of package deploy runs what is recorded.
package main

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/observe/prometheus/internal/recording"
)

// How long each part of a recording lasts: an ordinary one, the outage, and what comes after it.
const (
	scrape = 15 * time.Second
	before = 2 * time.Minute
	during = 6 * time.Minute
	after  = 6 * time.Minute
)

func main() {
	to := flag.String("o", "deploy/prometheus/recorded", "the folder to write to")
	flag.Parse()
	if !servers.Alone(func(t testing.TB) { record(t, *to) }) {
		os.Exit(1)
	}
}

// record records all outages at the same time.
func record(t testing.TB, to string) {
	scope, err := recording.ScopeOf(filepath.Join(to, "..", "rules.yml"))
	if err != nil {
		t.Fatalf("run this in the root of the repository: %v", err)
	}
	server := redistest.Start(t)
	files := make([]string, len(outages))
	var all sync.WaitGroup
	for i, o := range outages {
		all.Go(func() {
			text, err := o.record(server.Addr(), scope)
			if err != nil {
				t.Errorf("%s: %v", o.name, err)
			}
			files[i] = text
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for i, o := range outages {
		if err := os.WriteFile(filepath.Join(to, o.name+"_test.yml"), []byte(files[i]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
