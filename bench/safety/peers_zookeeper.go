package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// zooKeeperLibrary is a connection of github.com/go-zookeeper/zk, whose channel of events reports what becomes of the
// session.
type zooKeeperLibrary struct {
	conn *zk.Conn

	mu   sync.Mutex    // guards over
	over chan struct{} // closed when the connection or the session is lost, and then replaced
}

func openZooKeeper(at site, lease time.Duration) (library, error) {
	conn, events, err := zk.Connect([]string{at.Addr}, lease, zk.WithLogger(zkSilence{}))
	if err != nil {
		return nil, err
	}
	l := &zooKeeperLibrary{conn: conn, over: make(chan struct{})}
	go func() {
		for event := range events {
			if event.State == zk.StateDisconnected || event.State == zk.StateExpired {
				l.mu.Lock()
				close(l.over)
				l.over = make(chan struct{})
				l.mu.Unlock()
			}
		}
	}()
	return l, nil
}

type zkSilence struct{}

func (zkSilence) Printf(string, ...any) {}

func (l *zooKeeperLibrary) do(_ context.Context, name string, inside func(hold)) error {
	lock := zk.NewLock(l.conn, "/"+name, zk.WorldACL(zk.PermAll))
	if err := lock.Lock(); err != nil {
		return err
	}
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	inside(hold{done: over, lost: func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	}})
	return unlocked(lock)
}

// unlocked unlocks, again while there is no connection: the node stays as long as the session.
func unlocked(lock *zk.Lock) error {
	for {
		err := lock.Unlock()
		if !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
