package etcdtest

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Watches returns how many watches of clients the server has.
func (s *Server) Watches() (int, error) {
	n, err := s.metric("etcd_debugging_mvcc_watcher_total")
	return int(n), err
}

// Calls returns how many calls of a method, such as "Authenticate", clients have begun at the server. A stream is one.
func (s *Server) Calls(method string) (int, error) {
	n, err := s.metric(`grpc_server_started_total{[^}]*grpc_method="` + method + `"[^}]*}`)
	return int(n), err
}

// Processor returns how much time of processors the server has used.
func (s *Server) Processor() (time.Duration, error) {
	seconds, err := s.metric("process_cpu_seconds_total")
	return time.Duration(seconds * float64(time.Second)), err
}

// leads reports whether the server answers and says that it is the leader.
func (s *Server) leads() bool {
	n, err := s.metric("etcd_server_is_leader")
	return err == nil && n == 1
}

// metric returns a figure that the server publishes of itself, of the name that a regular expression matches.
func (s *Server) metric(name string) (float64, error) {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get(s.Endpoint() + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("the server on %s publishes no %s", s.Addr(), name)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
