package contender

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

func init() {
	openers[GoZooKeeper] = func(t Target) (Client, error) {
		conn, err := ConnectZooKeeper(t)
		return zkClient{conn}, err
	}
}

// ConnectZooKeeper makes a connection of github.com/go-zookeeper/zk with a session, and with a dialer that counts if
// there is a meter.
func ConnectZooKeeper(t Target) (*zk.Conn, error) {
	dial := func(network, addr string, limit time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if t.Meter == nil {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		return t.Meter.Dial(ctx, network, addr)
	}
	conn, events, err := zk.Connect(t.Addrs, t.lease(), zk.WithLogInfo(false), zk.WithDialer(dial))
	if err != nil {
		return nil, err
	}
	over := time.After(time.Minute)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return conn, nil
			}
		case <-over:
			conn.Close()
			return nil, fmt.Errorf("no session of %v within a minute", t.Addrs)
		}
	}
}

// zkClient has one session, on which every lock is a node of its own: goroutines exclude one another, too.
type zkClient struct{ conn *zk.Conn }

func (c zkClient) Lock(names ...string) Lock {
	return &zkLock{conn: c.conn, path: "/go-zookeeper/" + names[0]}
}

func (c zkClient) Close() error {
	c.conn.Close()
	return nil
}

// zkLock makes a lock of the library for each turn: one of these is for one.
type zkLock struct {
	conn *zk.Conn
	path string
	held *zk.Lock
}

// Lock waits for as long as it takes: the library knows no context.
func (l *zkLock) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.held = zk.NewLock(l.conn, l.path, zk.WorldACL(zk.PermAll))
	return l.held.Lock()
}

func (l *zkLock) Unlock() error {
	if l.held == nil {
		return errors.New("it is not held")
	}
	return l.held.Unlock()
}
