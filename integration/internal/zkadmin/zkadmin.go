// Package zkadmin is a test's own client of ZooKeeper, by a library that is not ours: it looks at nodes and deletes
// them beside the clients that are tested. The faults of a test hit its connections, too.
package zkadmin

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// Admin is a client of one ensemble, safe for concurrent use.
type Admin struct {
	conn      *zk.Conn
	addresses []string
}

// session is short, because go-zookeeper may hang in the handshake with a server that dies, for seven times this. The
// session keeps nothing.
const session = 4 * time.Second

// patience bounds how long a request is repeated while no server serves.
const patience = 40 * time.Second

// Connect makes a client, which ends with the test.
func Connect(t testing.TB, addresses ...string) *Admin {
	t.Helper()
	conn, _, err := zk.Connect(addresses, session, zk.WithLogger(silence{}))
	if err != nil {
		t.Fatalf("zkadmin: %v", err)
	}
	t.Cleanup(conn.Close)
	return &Admin{conn: conn, addresses: addresses}
}

// silence is a log that says nothing.
type silence struct{}

func (silence) Printf(string, ...any) {}

// Below are the names of the nodes below another one; none if that is not there.
func (a *Admin) Below(path string) (names []string, err error) {
	err = repeated(func() (err error) {
		names, _, err = a.conn.Children(path)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// Made is when a node was made, by the clock of the server that led then.
func (a *Admin) Made(path string) (at time.Time, err error) {
	err = repeated(func() error {
		_, stat, err := a.conn.Get(path)
		if err == nil {
			at = time.UnixMilli(stat.Ctime)
		}
		return err
	})
	return at, err
}

// Delete deletes a node, and tells whether it was there. A node that this call has deleted is gone when the request
// is repeated, because the first answer was lost.
func (a *Admin) Delete(path string) (done bool, err error) {
	times := 0
	err = repeated(func() error {
		times++
		return a.conn.Delete(path, -1)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return times > 1, nil
	}
	return err == nil, err
}

// DeleteBeside deletes a node while another one is there, and tells whether it did. It does not if either is gone, or
// if no server answered: then it may have been deleted all the same.
func (a *Admin) DeleteBeside(path, other string) (done bool, err error) {
	_, err = a.conn.Multi(
		&zk.CheckVersionRequest{Path: other, Version: -1}, &zk.DeleteRequest{Path: path, Version: -1},
	)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrAPIError) || unserved(err) {
		return false, nil
	}
	return err == nil, err
}

// repeated asks again while no server serves.
func repeated(ask func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if err := ask(); !unserved(err) || time.Now().After(end) {
			return err
		}
	}
}

// unserved tells whether there was no server for a request, or its answer was lost with the connection.
func unserved(err error) bool {
	return errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrConnectionClosed) ||
		errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrSessionMoved)
}
