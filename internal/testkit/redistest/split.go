package redistest

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Split is a lab of Sentinel with one replica that can be cut in two: the old primary and the clients for which Alone
// was called are on one side, and all else is on the other. Both sides reach the primary until then.
type Split struct {
	*SentinelLab
	primary *gate            // by which the other side reaches the primary
	aside   map[string]*gate // by which a client that is aside reaches the Sentinels
}

// SplitSentinel starts servers as Sentinel does.
func SplitSentinel(t testing.TB, opts ...Option) *Split {
	t.Helper()
	lab := Sentinel(t, opts...)
	s := &Split{SentinelLab: lab, primary: newGate(t, lab.servers[0].Addr()), aside: make(map[string]*gate)}
	host, port, err := net.SplitHostPort(s.primary.addr())
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	for _, sentinel := range lab.sentinels {
		s.aside[sentinel.Addr()] = newGate(t, sentinel.Addr())
		for _, command := range [][]any{
			{"sentinel", "remove", primaryName},
			{"sentinel", "monitor", primaryName, host, port, quorum},
			{"sentinel", "set", primaryName, "down-after-milliseconds", 500, "failover-timeout", 3000},
		} {
			order(t, sentinel, command...)
		}
	}
	order(t, lab.servers[0], "acl", "setuser", asideUser, "on", ">"+asidePassword, "~*", "&*", "+@all")
	// Only now: a Sentinel that watches another address makes the replica follow that one.
	order(t, lab.servers[1], "replicaof", host, port)
	Eventually(t, failoverLimit, func() bool {
		info := lab.servers[1].Info(t, "replication")
		return info["master_port"] == port && info["master_link_status"] == "up"
	}, "the replica does not follow through the gate")
	Eventually(t, failoverLimit, func() bool { return lab.ready(t) },
		"the Sentinels did not find one another and the replica")
	return s
}

func order(t testing.TB, server *Server, command ...any) {
	t.Helper()
	ask(t, server, func(ctx context.Context, rdb *redis.Client) (any, error) {
		return rdb.Do(ctx, command...).Result()
	})
}

// The replica knows no such user: a client may dial it as it likes, not only by its dialer, and has to be kept out.
const (
	asideUser     = "aside"
	asidePassword = "secret"
)

// Alone changes a client's options so that it will be alone with the old primary.
func (s *Split) Alone(o *redis.FailoverOptions) {
	o.Dialer, o.Username, o.Password = s.dialAside, asideUser, asidePassword
}

func (s *Split) dialAside(ctx context.Context, network, addr string) (net.Conn, error) {
	if g := s.aside[addr]; g != nil {
		addr = g.addr()
	} else if addr == s.primary.addr() {
		addr = s.servers[0].Addr()
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// Cut splits it, for good. What is dialled afterwards is accepted, and nobody answers.
func (s *Split) Cut() {
	s.primary.split()
	for _, g := range s.aside {
		g.split()
	}
}
