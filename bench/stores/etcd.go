package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

const oursOnEtcd = contender.Ours + " on etcd"

// onEtcd has concurrency.Mutex in three ways. With one session it does not exclude the goroutines of a process from one
// another, so where they want one name each has a session of its own.
var onEtcd = store{
	name: "etcd", title: "etcd", start: startEtcd, open: openEtcd,
	usual: []string{oursOnEtcd, contender.Etcd},
	entrants: map[string][]string{
		"free":      {oursOnEtcd, contender.Etcd, contender.EtcdEachLock, requests},
		"new":       {oursOnEtcd, contender.Etcd, contender.EtcdEachLock},
		"own64":     {oursOnEtcd, contender.Etcd, contender.EtcdEachLock},
		"hot1x8":    {oursOnEtcd, contender.EtcdEachHandle},
		"hot1x64":   {oursOnEtcd, contender.EtcdEachHandle},
		"hot8x8":    {oursOnEtcd, contender.EtcdEachHandle},
		"held1000":  {oursOnEtcd, contender.Etcd, contender.EtcdEachLock},
		"held10000": {oursOnEtcd, contender.Etcd},
		"passwords": {oursOnEtcd, contender.Etcd},
	},
	goals: map[string][]scenario.Goal{
		"free":     {{Figure: measure.Rate, Of: oursOnEtcd, To: []string{contender.Etcd}, AtLeast: 1}},
		"hot1x8":   {{Figure: measure.Rate, Of: oursOnEtcd, To: []string{contender.EtcdEachHandle}, AtLeast: 50}},
		"hot1x64":  {{Figure: measure.Rate, Of: oursOnEtcd, To: []string{contender.EtcdEachHandle}, AtLeast: 50}},
		"handover": {{Figure: handoverP50, Of: oursOnEtcd, To: []string{contender.Etcd}, AtMost: 1.1}},
		"held10000": {
			{Figure: third(keepAlive), Of: oursOnEtcd, AtMost: 1},
			{Figure: third(reads), Of: oursOnEtcd, AtMost: 100}, // 128 keys by each would be 79
		},
		"passwords": {{Figure: serverLoad, Of: oursOnEtcd, To: []string{contender.Etcd}, AtMost: 1}},
	},
	least:    5 * time.Second,
	settling: 150 * time.Millisecond, // for up to 0.1 s it may tell a new watcher late
}

type etcdServer struct {
	*etcdtest.Server
	number string
}

// startEtcd starts an etcd that waits for the disk.
func startEtcd(_ context.Context, t testing.TB) (server, error) {
	number, err := etcdtest.Version()
	if err != nil {
		return nil, err
	}
	return &etcdServer{etcdtest.Start(t, "--unsafe-no-fsync=false"), number}, nil
}

func (s *etcdServer) version() string { return "etcd " + s.number + ", fsync on" }

func (s *etcdServer) addrs() []string { return []string{s.Addr()} }

func (s *etcdServer) asker(ctx context.Context, addr string) (ask, hangUp func() error, err error) {
	c, err := contender.ConnectEtcd(target{Addrs: []string{addr}}.general())
	if err != nil {
		return nil, nil, err
	}
	ask = func() error {
		_, err := c.Get(ctx, "nothing", clientv3.WithSerializable())
		return err
	}
	return ask, c.Close, nil
}

// close does nothing: the server ends with what it was started for.
func (s *etcdServer) close() error { return nil }

// place is the whole server: a contender leaves nothing behind when it ends.
func (s *etcdServer) place(context.Context) (place, error) { return etcdPlace{s}, nil }

type etcdPlace struct{ server *etcdServer }

func (p etcdPlace) url() string { return "" }

// spent reads what the server publishes of itself.
func (p etcdPlace) spent(ctx context.Context) (measure.Figures, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.server.Endpoint()+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", request.URL, answer.Status)
	}
	return spentOf(answer.Body)
}

// spentOf counts messages: a stream carries many. The server counts the end of a stream as one that it received.
func spentOf(metrics io.Reader) (measure.Figures, error) {
	s := measure.Figures{calls: 0, renewing: 0, keepAlive: 0, reads: 0}
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil: // a comment
			continue
		case name == "etcd_disk_wal_write_bytes_total":
			s[logBytes] = n
			continue
		case strings.HasPrefix(name, "grpc_server_msg_received_total{"):
		case strings.HasPrefix(name, "grpc_server_handled_total{") && strings.Contains(name, "_stream"):
			n = -n
		default:
			continue
		}
		s[calls] += n
		s[renewing] += n
		switch {
		case strings.Contains(name, `"LeaseKeepAlive"`):
			s[keepAlive] += n
		case strings.Contains(name, `"Txn"`), strings.Contains(name, `"Range"`):
			s[reads] += n
		}
	}
	return s, lines.Err()
}

// tidy does nothing: a key of one who was cut off goes with its session or by its own request.
func (p etcdPlace) tidy(context.Context, string) error { return nil }

func (p etcdPlace) close() error { return nil }

func openEtcd(_ context.Context, name string, to target) (contender.Client, error) {
	switch name {
	case oursOnEtcd:
	case requests:
		return openRequests(to)
	default:
		return contender.Open(name, to.general())
	}
	etcd, err := contender.ConnectEtcd(to.general())
	if err != nil {
		return nil, err
	}
	client, err := etcdlock.NewClient(etcd, &etcdlock.Options{Lease: to.Lease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, etcd.Close())
	}
	return ours{client, func() error { return errors.Join(client.Close(), etcd.Close()) }}, nil
}
