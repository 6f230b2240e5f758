package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/zklock"
)

const oursOnZooKeeper = contender.Ours + " on ZooKeeper"

// onZooKeeper has the Lock of github.com/go-zookeeper/zk, and Curator's InterProcessMutex in a JVM, both with one
// session for a client.
var onZooKeeper = store{
	name: "zookeeper", title: "ZooKeeper", start: startZooKeeper, open: openZooKeeper,
	usual: []string{oursOnZooKeeper, contender.GoZooKeeper, contender.Curator},
	entrants: map[string][]string{ // what is not a load or a handover, Curator's program does not do
		"new":       {oursOnZooKeeper, contender.GoZooKeeper},
		"crash":     {oursOnZooKeeper, contender.GoZooKeeper},
		"held1000":  {oursOnZooKeeper, contender.GoZooKeeper},
		"held10000": {oursOnZooKeeper, contender.GoZooKeeper},

		"clients1000": {oursOnZooKeeper, contender.GoZooKeeper},
	},
	goals: map[string][]scenario.Goal{
		"free": {
			{Figure: measure.Rate, Of: oursOnZooKeeper, To: zooKeeperPeers, AtLeast: 0.95},
			{Figure: measure.Rate, Of: oursOnZooKeeper, To: zooKeeperPeers, AtLeast: 1.3, From: 2 * time.Millisecond},
		},
		"hot1x8":   {{Figure: measure.Rate, Of: oursOnZooKeeper, To: zooKeeperPeers, AtLeast: 100}},
		"hot1x64":  {{Figure: measure.Rate, Of: oursOnZooKeeper, To: zooKeeperPeers, AtLeast: 100}},
		"handover": {{Figure: handoverP50, Of: oursOnZooKeeper, To: zooKeeperPeers, AtMost: 1}},
		"held10000": { // a session for about 2,000 holds, each renewed by one attachment
			{Figure: third(attaching), Of: oursOnZooKeeper, AtMost: 6},
		},
	},
	least: 4 * time.Second, settling: 50 * time.Millisecond,
}

var zooKeeperPeers = []string{contender.GoZooKeeper, contender.Curator}

type zooKeeperServer struct {
	*zktest.Server
	number string
	java   *javalib.Program
}

// startZooKeeper starts a ZooKeeper that waits for the disk, with a JVM as it is by default.
func startZooKeeper(ctx context.Context, t testing.TB) (server, error) {
	number, err := zktest.Version()
	if err != nil {
		return nil, err
	}
	java, err := javalib.Build(ctx, javalib.Curator)
	if err != nil {
		return nil, err
	}
	return &zooKeeperServer{zktest.Start(t, zktest.Options{
		Tick: 2 * time.Second,
		JVM:  []string{"-Dzookeeper.forceSync=yes", "-XX:TieredStopAtLevel=4", "-Xmx512m"},
	}), number, java}, nil
}

func (s *zooKeeperServer) version() string {
	return fmt.Sprintf("ZooKeeper %s, fsync on, Curator %s (%s)", s.number, s.java.Version, s.java.Java)
}

func (s *zooKeeperServer) addrs() []string { return []string{s.Addr()} }

func (s *zooKeeperServer) asker(_ context.Context, addr string) (ask, hangUp func() error, err error) {
	conn, err := contender.ConnectZooKeeper(target{Addrs: []string{addr}}.general())
	if err != nil {
		return nil, nil, err
	}
	ask = func() error {
		_, _, err := conn.Exists("/")
		return err
	}
	hangUp = func() error {
		conn.Close()
		return nil
	}
	return ask, hangUp, nil
}

// lines is how many lines the server has logged, but for those of containers that it deletes, which are what contenders
// before left.
func (s *zooKeeperServer) lines(t testing.TB) int {
	log := s.Log(t)
	return strings.Count(log, "\n") - strings.Count(log, "[ContainerManagerTask]")
}

// close removes Curator's program: the server ends with what it was started for.
func (s *zooKeeperServer) close() error { return s.java.Close() }

// place is the whole server: a contender leaves nothing behind when it ends.
func (s *zooKeeperServer) place(context.Context) (place, error) { return zooKeeperPlace{s}, nil }

type zooKeeperPlace struct{ server *zooKeeperServer }

func (p zooKeeperPlace) url() string { return "" }

// library is Curator's.
func (s *zooKeeperServer) library(of string) *javalib.Program {
	if of == contender.Curator {
		return s.java
	}
	return nil
}

// spent reads what the server publishes of itself. It does not say what goes to its log.
func (p zooKeeperPlace) spent(context.Context) (measure.Figures, error) {
	figures := measure.Figures{}
	for name, metric := range map[string]string{
		calls: "zk_packets_received", attaching: "zk_connection_request_count",
	} {
		n, err := p.server.Metric(metric)
		if err != nil {
			return nil, err
		}
		figures[name] = n
	}
	figures[renewing] = figures[calls]
	return figures, nil
}

// tidy does nothing: a node of one who was cut off goes with its session or by its own request.
func (p zooKeeperPlace) tidy(context.Context, string) error { return nil }

func (p zooKeeperPlace) close() error { return nil }

func openZooKeeper(_ context.Context, name string, to target) (contender.Client, error) {
	if name != oursOnZooKeeper {
		return contender.Open(name, to.general())
	}
	opts := &zklock.Options{Lease: to.Lease, Logger: slog.New(slog.DiscardHandler)}
	if to.meter != nil {
		opts.Dial = to.meter.Dial
	}
	client, err := zklock.NewClient(to.Addrs, opts)
	if err != nil {
		return nil, err
	}
	return ours{client, client.Close}, nil
}
