package redistest

import (
	"strconv"
	"testing"
	"time"
)

const syncLimit = 30 * time.Second

// Replica starts a replica of a server and waits until it has caught up with it.
func Replica(t testing.TB, of *Server, opts ...Option) *Server {
	t.Helper()
	opts = append([]Option{WithArgs("--replicaof", of.Host(), strconv.Itoa(of.Port()))}, opts...)
	replica := Start(t, opts...)
	Eventually(t, syncLimit, func() bool {
		return replica.Info(t, "replication")["master_link_status"] == "up"
	}, "the replica did not catch up with its primary")
	return replica
}
