package zktest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Word sends the server a command (4lw): srvr, mntr or ruok, and returns its answer. An error says
// that it does not answer within a second.
func (s *Server) Word(word string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	said, err := io.ReadAll(conn)
	if err == nil && len(said) == 0 {
		err = errors.New("the server closed the connection without an answer")
	}
	return string(said), err
}

// Metric returns a figure that the server publishes of itself by mntr, for instance "zk_ephemerals_count".
func (s *Server) Metric(name string) (float64, error) {
	said, err := s.Word("mntr")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(said) {
		if value, ok := strings.CutPrefix(line, name+"\t"); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("the server on %s publishes no %s", s.Addr(), name)
}

// Processor returns how much time of processors the server has used since it was started last.
func (s *Server) Processor() (time.Duration, error) { return s.process.Processor() }

// Log returns all that the server has logged so far, in each of its runs.
func (s *Server) Log(t testing.TB) string {
	t.Helper()
	said, err := os.ReadFile(s.process.Log)
	if err != nil {
		t.Fatalf("zktest: %v", err)
	}
	return string(said)
}

var modeLine = regexp.MustCompile(`(?m)^Mode: (\w+)$`)

// mode is what the server says it is: standalone, leader or follower. It says nothing while it serves nobody.
func (s *Server) mode() (string, error) {
	said, err := s.Word("srvr")
	if err != nil {
		return "", err
	}
	found := modeLine.FindStringSubmatch(said)
	if found == nil {
		return "", fmt.Errorf("the server says: %s", strings.TrimSpace(said))
	}
	return found[1], nil
}
