package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
)

// store is a kind of database with those that lock on it, and what ours is to reach there.
type store struct {
	name  string // of the flag
	title string
	start func(ctx context.Context, t testing.TB) (server, error)
	open  func(ctx context.Context, contender string, to target) (contender.Client, error)

	usual    []string            // who takes part, ours first
	entrants map[string][]string // in situations, by id, in which others do; nobody: it is not measured there
	goals    map[string][]scenario.Goal

	least    time.Duration            // lease of ours, by which a brief run is done soon
	settling time.Duration            // that the next one is given to get into its wait: to connect, to ask, to listen
	polls    map[string]time.Duration // of those that are told nothing: between two questions of a waiter
}

// stores are all there are, in the order of the tables.
var stores = []*store{&onRedis, &onPostgres, &onEtcd, &onZooKeeper}

// chosen are the stores of those names.
func chosen(names string) (all []*store, err error) {
	wanted := strings.Split(names, ",")
	for _, name := range wanted {
		if !slices.ContainsFunc(stores, func(s *store) bool { return s.name == name }) {
			return nil, fmt.Errorf("-store %s: %q is none of redis, postgres, etcd and zookeeper", names, name)
		}
	}
	return slices.DeleteFunc(slices.Clone(stores), func(s *store) bool { return !slices.Contains(wanted, s.name) }), nil
}

// scenario is what a situation is on this store.
func (s *store) scenario(of situation) scenario.Scenario {
	contenders, ok := s.entrants[of.id]
	if !ok && !of.special {
		contenders = s.usual
	}
	return scenario.Scenario{
		ID: of.id, Title: of.title, Rounds: of.rounds, At: of.at, Columns: of.columns,
		Contenders: contenders, Goals: s.goals[of.id],
	}
}

// server is a running database.
type server interface {
	version() string
	addrs() []string // that clients connect to

	// asker connects to an address and returns what asks there a question that costs nothing.
	asker(ctx context.Context, addr string) (ask, hangUp func() error, err error)
	place(ctx context.Context) (place, error)
	close() error
}

// place is a part of a server in which a situation has nothing else beside it.
type place interface {
	url() string // for those contenders that need more than an address

	// spent is what the server has done there so far, by figure.
	spent(ctx context.Context) (measure.Figures, error)

	// tidy takes away what a contender left behind whose request was cut off at the end of its time.
	tidy(ctx context.Context, contender string) error
	close() error
}

// The names of what servers have done.
const (
	calls     = "calls"         // that the server carried out: commands, statements, or messages
	renewing  = "renewal_calls" // the same without those that begin, set up and end transactions
	keepAlive = "keep_alives"
	reads     = "reads"
	attaching = "attachments" // of sessions to connections, new ones among them
	logBytes  = "log_bytes"   // of the log that is on the disk before an answer comes
	planning  = "planning_us"
	running   = "running_us"
)

// target is what a client is opened for. A process that is to crash gets it by way of JSON.
type target struct {
	Addrs []string // of the server, or of a relay before it
	URL   string
	Lease time.Duration // 0: the default of ours, and what the peer's own page says
	meter *wire.Meter

	User, Password string // "": the server asks for none
}

// general is the target of a contender that needs no URL.
func (t target) general() contender.Target {
	return contender.Target{Addrs: t.Addrs, Lease: t.Lease, Meter: t.meter, User: t.User, Password: t.Password}
}
