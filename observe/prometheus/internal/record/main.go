// Command record records what a Prometheus finds while a store of locks is away, as tests for promtool:
//
//	go run ./observe/prometheus/internal/record -o deploy/prometheus/recorded
//
// For each store and each outage it starts a server, and three programs that lock there: the first only tries, the
// second waits briefly, and the third holds. All of them run at the same time, and in real time: a quarter of an hour.
// Each is scraped as a Prometheus would, and every series that the alerts read is written down, with the alerts that
// must fire then. With -store zookeeper it records that store alone.
//
// Record anew, on a machine that has little else to do, when a metric, an alert or what a client counts has changed.
// The test of package deploy runs what is recorded.
//
// It is a module of its own because it needs the clients of all stores, which a program that only counts does not.
package main

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
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
	only := flag.String("store", "", "the store to record; empty: all")
	flag.Parse()
	if !servers.Alone(func(t testing.TB) { recordAll(t, *to, *only) }) {
		os.Exit(1)
	}
}

// take is one outage of one store, with the server that it befalls.
type take struct {
	store  store
	server server
	outage outage
	file   string
}

// recordAll records all outages of all stores, or only of one, at the same time.
func recordAll(t testing.TB, to, only string) {
	scope, err := recording.ScopeOf(filepath.Join(to, "..", "rules.yml"))
	if err != nil {
		t.Fatalf("run this in the root of the repository: %v", err)
	}
	var takes []*take
	for _, s := range stores {
		if only != "" && only != s.name {
			continue
		}
		for _, o := range outages {
			server := s.start(t)
			server.path = tcpproxy.Start(t, server.addr)
			takes = append(takes, &take{store: s, server: server, outage: o})
		}
	}
	if len(takes) == 0 {
		t.Fatalf("-store %s: there is no such store", only)
	}
	var all sync.WaitGroup
	for _, one := range takes {
		all.Go(func() {
			if err := one.record(scope); err != nil {
				t.Errorf("%s, %s: %v", one.store.name, one.outage.name, err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, one := range takes {
		name := one.store.name + "_" + one.outage.name + "_test.yml"
		if err := os.WriteFile(filepath.Join(to, name), []byte(one.file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
