package redistest

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Monitor records every command that a server executes, in the order of execution, including those called by scripts.
type Monitor struct {
	conn net.Conn
	done chan struct{} // closed when run has returned

	mu    sync.Mutex // guards lines
	lines []string
}

// Monitor starts recording and stops when the test ends. Commands sent before Monitor returned are not recorded,
// later ones are.
func (s *Server) Monitor(t testing.TB) *Monitor {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.Addr(), inspectLimit)
	if err != nil {
		t.Fatalf("redistest: monitor: %v", err)
	}
	m := &Monitor{conn: conn, done: make(chan struct{})}
	reader := bufio.NewReader(conn)
	if err := m.handshake(reader); err != nil {
		_ = conn.Close()
		t.Fatalf("redistest: monitor: %v", err)
	}
	go m.run(reader)
	t.Cleanup(func() {
		_ = conn.Close()
		<-m.done
	})
	return m
}

func (m *Monitor) handshake(reader *bufio.Reader) error {
	if err := m.conn.SetDeadline(time.Now().Add(inspectLimit)); err != nil {
		return err
	}
	if _, err := m.conn.Write([]byte("MONITOR\r\n")); err != nil {
		return err
	}
	if _, err := reader.ReadString('\n'); err != nil { // +OK
		return err
	}
	return m.conn.SetDeadline(time.Time{})
}

func (m *Monitor) run(reader *bufio.Reader) {
	defer close(m.done)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		m.mu.Lock()
		m.lines = append(m.lines, strings.TrimRight(line[1:], "\r\n"))
		m.mu.Unlock()
	}
}

// Lines returns the record so far, as MONITOR writes it: time, database and address (or "lua"), and the quoted
// arguments. A command's line can arrive later than its reply: use [Eventually].
func (m *Monitor) Lines() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.lines...)
}
