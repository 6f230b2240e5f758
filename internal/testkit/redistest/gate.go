package redistest

import (
	"net"
	"sync"
	"testing"
)

// gate is a way to a server, for bytes of any protocol, that a test can close: connections stay open, and new ones
// are accepted, but nothing passes any more.
type gate struct {
	listener net.Listener
	to       string
	closed   chan struct{} // by split
	serving  sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns []net.Conn // until the test ends
}

func newGate(t testing.TB, to string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	g := &gate{listener: listener, to: to, closed: make(chan struct{})}
	g.serving.Go(g.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		g.mu.Lock()
		for _, conn := range g.conns {
			_ = conn.Close()
		}
		g.mu.Unlock()
		g.serving.Wait()
	})
	return g
}

func (g *gate) addr() string { return g.listener.Addr().String() }

func (g *gate) split() { close(g.closed) }

func (g *gate) accept() {
	for {
		near, err := g.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", g.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		g.mu.Lock()
		g.conns = append(g.conns, near, far)
		g.mu.Unlock()
		g.serving.Go(func() { g.pass(far, near) })
		g.serving.Go(func() { g.pass(near, far) })
	}
}

// pass copies until the gate is closed; after that both ends wait in vain.
func (g *gate) pass(to, from net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-g.closed:
			return
		default:
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}
