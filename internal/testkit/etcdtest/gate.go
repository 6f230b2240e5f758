package etcdtest

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// gate is a member's address for the others. All of them know the same one, and a connection does not say by itself
// whose it is, so the gate looks which process has its other end, and sends it on by that member's own path.
type gate struct {
	cluster  *Cluster
	to       int
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex // guards what follows
	open  map[net.Conn]struct{}
	ended bool
}

// openGate opens the gate of a member, which ends with the test, and returns its address.
func openGate(t testing.TB, c *Cluster, to int) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	g := &gate{cluster: c, to: to, listener: listener, open: make(map[net.Conn]struct{})}
	g.running.Go(g.accept)
	t.Cleanup(g.end)
	return listener.Addr().String()
}

func (g *gate) accept() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.running.Go(func() { g.pass(conn) })
	}
}

// pass carries a connection until both ends are closed, or the gate ends.
func (g *gate) pass(conn net.Conn) {
	defer g.closes(conn)()
	from := -1
	if socket, err := servers.SocketOf(conn.RemoteAddr()); err == nil {
		from = g.cluster.from(socket)
	}
	if from < 0 || from == g.to {
		return // its process is gone
	}
	path, err := net.Dial("tcp", g.cluster.paths[from][g.to].Addr())
	if err != nil {
		return
	}
	defer g.closes(path)()
	var ways sync.WaitGroup
	ways.Go(func() { carry(path, conn) })
	ways.Go(func() { carry(conn, path) })
	ways.Wait()
}

// carry copies one direction, and its end. If the other end is gone, so is the whole connection.
func carry(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = to.Close(), from.Close()
		return
	}
	_ = to.(*net.TCPConn).CloseWrite()
}

// closes notes a connection, which the end of the gate closes, and returns what closes it before.
func (g *gate) closes(conn net.Conn) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		_ = conn.Close()
	}
	g.open[conn] = struct{}{}
	return func() {
		_ = conn.Close()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.open, conn)
	}
}

func (g *gate) end() {
	_ = g.listener.Close()
	g.mu.Lock()
	g.ended = true
	for conn := range g.open {
		_ = conn.Close()
	}
	g.mu.Unlock()
	g.running.Wait()
}
