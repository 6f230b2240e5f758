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

// leads reports whether the server answers and says that it is the leader.
func (s *Server) leads() bool {
	n, err := s.metric("etcd_server_is_leader")
	return err == nil && n == 1
}

// metric returns a figure that the server publishes of itself.
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
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("the server on %s publishes no %s", s.Addr(), name)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
