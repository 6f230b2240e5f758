package history

import (
	"errors"
	"time"
)

// Config says how much a run does. All of it follows from the seed but for what the scheduler of the
// machine decides, so a seed repeats the faults and not the history.
type Config struct {
	Acquisitions int // while faults are injected
	Faults       int // at least as many as there are kinds
	Seed         uint64
	Lease        time.Duration
	Clients      int           // processes
	Workers      int           // goroutines in each
	Limit        time.Duration // for the acquisitions and faults; what was not reached by then fails the run
	Log          func(format string, args ...any)
}

const (
	warmUp     = 200              // acquisitions
	warmUpTime = 20 * time.Second // within which they are made, or the machine is too slow to test anything
	liveEach   = 25               // operations of each worker in the liveness phase
)

// bound is how long a call may go on after the faults have ended: a lease that a dead or cut-off holder
// left behind, a poll, and what a loaded machine takes for a queue of holders.
func (c Config) bound() time.Duration { return 2*c.Lease + 13*time.Second }

// fill puts defaults in place of zero values.
func (c Config) fill() (Config, error) {
	if c.Lease == 0 {
		c.Lease = 900 * time.Millisecond
	}
	if c.Clients == 0 {
		c.Clients = 4
	}
	if c.Workers == 0 {
		c.Workers = 4
	}
	if c.Limit == 0 {
		c.Limit = 10 * time.Minute
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.Faults < len(kinds) {
		return c, errors.New("history: fewer faults than kinds of them")
	}
	if c.Acquisitions <= 0 {
		return c, errors.New("history: no acquisitions to be made")
	}
	return c, nil
}
