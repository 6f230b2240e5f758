package history

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Site is the kind of servers that hold the locks.
type Site string

// The sites. The first four are Redis's, of which only a single server has a proxy in front of it for every client:
// the nodes of the others give clients their own addresses. On PostgreSQL each client has a path of its own to each
// server.
const (
	Single   Site = "single"
	Cluster  Site = "cluster"   // three primaries
	Sentinel Site = "sentinel"  // a primary, its replica, and three Sentinels
	Quorum   Site = "redlock"   // five servers, independent of one another
	Postgres Site = "postgres"  // PostgreSQL and its standby, which is synchronous unless the store forgets
	Bouncer  Site = "pgbouncer" // PostgreSQL behind a pooler in transaction mode

	// Deposed is PostgreSQL whose primary lives on when its synchronous standby was promoted. A process may be
	// connected to both, and be told by one that it does not know the hold that the other has.
	Deposed Site = "postgres-deposed"

	// On etcd, which is three servers, each client has a path of its own to each of them.
	Etcd Site = "etcd"

	// Thawed is etcd whose leader stands still for longer than a lease, and comes back when there is another one.
	// Before it learns of that it may revoke leases which the other one has renewed: it skips to make sure that it
	// leads, if it has counted time a moment ago (etcd's pull request 18428).
	Thawed Site = "etcd-thawed"

	// On ZooKeeper, which is three servers, each client has a path of its own to each of them.
	ZooKeeper Site = "zookeeper"
)

// redis reports that one Redis answers for a name. (Of a redlock, several do.)
func (s Site) redis() bool { return !s.postgres() && !s.agrees() && s != Quorum }

func (s Site) etcd() bool { return s == Etcd || s == Thawed }

// agrees reports that three servers agree on the locks, which hang on what a client renews for all of them.
func (s Site) agrees() bool { return s.etcd() || s == ZooKeeper }

func (s Site) postgres() bool { return s == Postgres || s == Deposed || s == Bouncer }

// Config configures a run. The seed decides everything except what the machine's scheduler decides, so a
// seed repeats the faults but not the history.
type Config struct {
	Acquisitions int // while faults are injected
	Faults       int // at least as many as there are kinds
	Seed         uint64
	Lease        time.Duration // zero: 900 ms, and 5 s on etcd and ZooKeeper
	Limit        time.Duration // for the acquisitions and faults; the run fails if it is not done by then

	Site    Site     // Single by default
	Forgets bool     // the store is made to forget, and no other fault happens; not on every site
	Linger  bool     // workers stay inside for long; always so where the store forgets
	Kinds   []string // names of the only kinds of faults; nil means all of the site

	// Java is the class path of Redisson's clients, which contend with ours. "": there are none.
	Java string                           `json:"-"`
	Log  func(format string, args ...any) `json:"-"`
}

const (
	clientsOfOurs = 4 // processes
	clientsInJava = 2
	workers       = 4 // goroutines, or threads, in each

	warmUp     = 200             // acquisitions
	warmUpSlow = 20              // of lingering workers
	warmUpTime = 2 * time.Minute // a machine that is slower than this is too slow to test anything
	liveEach   = 25              // operations of each worker in the liveness phase
)

// bound is how long a call may go on after the faults have ended: a lease that a dead or disconnected holder left
// behind, a poll, and what a loaded machine takes for a queue of holders; where they linger, two that stay for as long
// as any does.
func (c Config) bound() time.Duration {
	b := 2*c.Lease + 13*time.Second
	if c.Linger {
		b += 2 * longestStay * c.Lease
	}
	return b
}

// longestStay is for how many leases a lingering worker stays inside at most.
const longestStay = 3

// telling is how long after the store forgot a hold its holder may treat it as live: a renewal period and a command's
// limit, and that limit twice more, because the renewal may meet a server that has only just come back, and a machine
// that is busy.
func (c Config) telling() time.Duration { return c.Lease/3 + 3*(c.Lease/6) }

// kinds returns the faults of the run.
func (c Config) kinds() []fault {
	all := siteKinds[c.Site]
	if c.Forgets {
		all = lossKinds[c.Site]
	}
	if c.Kinds == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return !slices.Contains(c.Kinds, f.name) })
}

// warmUp is how many acquisitions show that the clients work.
func (c Config) warmUp() int {
	if c.Linger {
		return warmUpSlow
	}
	return warmUp
}

// fill replaces zero values by defaults.
func (c Config) fill() (Config, error) {
	if c.Lease == 0 {
		c.Lease = 900 * time.Millisecond
		if c.Site.agrees() {
			c.Lease = 5 * time.Second // the shortest, or nearly so
		}
	}
	if c.Limit == 0 {
		c.Limit = 10 * time.Minute
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.Site == "" {
		c.Site = Single
	}
	c.Linger = c.Linger || c.Forgets
	switch n := len(c.kinds()); {
	case c.Forgets && lossKinds[c.Site] == nil:
		return c, fmt.Errorf("history: the site %s is not made to forget", c.Site)
	case c.Java != "" && (c.Forgets || !c.Site.redis()):
		return c, fmt.Errorf("history: Redisson's clients do not learn of losses, and know no site %s", c.Site)
	case n == 0 || c.Kinds != nil && n != len(c.Kinds):
		return c, fmt.Errorf("history: there are no such faults on the site %s: %q", c.Site, c.Kinds)
	case c.Faults < n:
		return c, errors.New("history: fewer faults than kinds of them")
	case c.Acquisitions <= 0:
		return c, errors.New("history: no acquisitions to be made")
	}
	return c, nil
}
