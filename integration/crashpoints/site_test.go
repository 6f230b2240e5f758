package crashpoints_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/lock"
)

// site is a store that the pairs run on.
type site struct {
	start func(t *testing.T, a action) server
	dial  func(addr string) (*dialled, error)
	lacks []crash.Point // that nothing reaches there
	pace  time.Duration // leases and time limits are so many times as long as on Redis
	poll  time.Duration // after which a waiter asks, whatever it has heard
	lazy  bool          // a server that is killed forgets releases of the last moment, whose leases have to end then
}

// sites are all of them, by the names that subjects are told.
var sites = map[string]site{"redis": redisSite, "postgres": postgresSite, "etcd": etcdSite, "zookeeper": zookeeperSite}

func (s site) points() []crash.Point {
	return slices.DeleteFunc(crash.Points(), func(p crash.Point) bool { return slices.Contains(s.lacks, p) })
}

// subscribed is the point from which on messages are heard.
func (s site) subscribed() crash.Point {
	if slices.Contains(s.lacks, crash.Subscribed) {
		return crash.Subscribe
	}
	return crash.Subscribed
}

// server is that of a pair. Only the parent uses it.
type server interface {
	addr() string // for dial

	empty(gone func())   // it forgets all its data; gone is called when it has, and might not be back yet
	restart(gone func()) // it is killed, and comes back with its data
	deafen() int         // all connections that listen are cut; so many were
	forget()             // what a server may forget at any time: scripts, connections

	held() bool         // somebody has the lock
	left() []string     // what is left of holds
	listened() []string // where somebody listens
}

// dialled is how a process reaches the store, with one client or several.
type dialled struct {
	client func(lease time.Duration) (client, error)
	hangUp func()
}

type client interface {
	lock.Provider
	Close() error
}
