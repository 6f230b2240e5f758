package main

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// Sentinels make a replica follow the primary that they know when it has followed another address for as long as their
// failover-timeout: this one here, by the path. So that is long until the primary is killed.
const (
	leaveThePath = 3_600_000 // milliseconds
	failOver     = 3_000
)

// watch is a primary whose replica follows it over a path, and three Sentinels.
type watch struct {
	t                testing.TB
	name             string // of the primary
	sentinels        []*redistest.Server
	primary, replica *redistest.Server
	link             *tcpproxy.Proxy // between the two
}

func watchedPlace(t testing.TB) *place {
	lab := redistest.Sentinel(t)
	data := lab.Servers()
	w := &watch{
		t: t, name: lab.Options().MasterName, sentinels: lab.Sentinels(), primary: data[0], replica: data[1],
	}
	w.link = w.followed()
	p := &place{
		version: "Redis " + w.primary.Info(t, "server")["redis_version"],
		addr:    func() string { return w.primary.Addr() },
		crash:   w.kill, prepare: w.recover, detach: w.detach, primary: w.name,
	}
	for _, s := range w.sentinels {
		p.sentinels = append(p.sentinels, s.Addr())
	}
	// If all three saw at the same time that the primary is down, each would vote for itself, and they would try again
	// after seconds. So the third one only votes for another.
	command(t, w.sentinels[2], "SENTINEL", "SET", w.name, "down-after-milliseconds", patience.Milliseconds())
	return p
}

// detach holds back what the primary sends to the replica. Their connection stays: Sentinels promote no replica that
// has been without its primary for five seconds longer than they.
func (w *watch) detach() {
	detach(w.t, w.replica, func(on bool) { w.link.Hold(tcpproxy.Replies, on) })
}

func (w *watch) timeout(ms int) {
	for _, s := range w.sentinels {
		command(w.t, s, "SENTINEL", "SET", w.name, "failover-timeout", ms)
	}
}

// followed has the replica follow over a path, and waits until the Sentinels would promote it.
func (w *watch) followed() *tcpproxy.Proxy {
	w.timeout(leaveThePath)
	link := follow(w.t, w.replica, w.primary)
	servers.Eventually(w.t, patience, func() bool {
		return !slices.ContainsFunc(w.sentinels, func(s *redistest.Server) bool { return !w.knownTo(s) })
	}, "a Sentinel does not know the replica")
	return link
}

// knownTo reports whether a Sentinel would promote the replica.
func (w *watch) knownTo(sentinel *redistest.Server) bool {
	rdb := redis.NewSentinelClient(sentinel.Options())
	defer func() { _ = rdb.Close() }()
	replicas, err := rdb.Replicas(context.Background(), w.name).Result()
	return err == nil && slices.ContainsFunc(replicas, func(r map[string]string) bool {
		return r["port"] == fmt.Sprint(w.replica.Port()) && r["flags"] == "slave" && r["role-reported"] == "slave" &&
			r["master-link-status"] == "ok"
	})
}

// kill ends the primary. The Sentinels see that it is down, and promote the replica.
func (w *watch) kill() {
	w.primary.Kill()
	w.timeout(failOver)
}

// recover waits until the replica was promoted, and gives it a replica. The old primary does not come back: it has
// nothing on the disk, and would take locks until the Sentinels see it.
func (w *watch) recover() {
	servers.Eventually(w.t, patience, func() bool {
		return w.replica.Info(w.t, "replication")["role"] == "master" &&
			!slices.ContainsFunc(w.sentinels, func(s *redistest.Server) bool { return !w.promotedBy(s) })
	}, "the Sentinels promote nobody")
	w.primary, w.replica = w.replica, redistest.Start(w.t)
	w.link = w.followed()
}

func (w *watch) promotedBy(sentinel *redistest.Server) bool {
	rdb := redis.NewSentinelClient(sentinel.Options())
	defer func() { _ = rdb.Close() }()
	addr, err := rdb.GetMasterAddrByName(context.Background(), w.name).Result()
	return err == nil && len(addr) == 2 && addr[1] == fmt.Sprint(w.replica.Port())
}
