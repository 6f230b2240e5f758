// Package scenario has what is measured: one file for each kind of situation that locks get into.
//
// A scenario has its own servers. Its contenders are opened once and measured in rounds, one after the
// other in every round and in an order that rotates, so that whatever else the machine does hits all of
// them; ratios are of figures of one round.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/bench/internal/redisson"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
)

// Scale is how much is measured.
type Scale struct {
	Rounds int
	Slice  time.Duration // one contender in one round
	Quick  bool          // only to see that everything works: smaller crowds as well
}

// Full and Quick are the two scales.
var (
	Full  = Scale{Rounds: 5, Slice: time.Second}
	Quick = Scale{Rounds: 1, Slice: 30 * time.Millisecond, Quick: true}
)

// crowd is of goroutines over clients, of which none is left with less than two.
func (s Scale) crowd(goroutines, clients int) int {
	return min(goroutines, max(s.of(goroutines), 2*clients))
}

// Setting is how much is measured, and with what.
type Setting struct {
	Scale
	Java *redisson.Program // nil: Redisson is not measured
}

// of is n, or much less of it where it is only to be seen that it works.
func (s Scale) of(n int) int {
	if s.Quick {
		return max(n/50, 2)
	}
	return n
}

// Scenario is one situation.
type Scenario struct {
	ID, Title  string
	Contenders []string
	Servers    int // 0: one
	Rounds     int // 0: as the scale says
	Columns    []Column
	Goals      []Goal

	// Open makes a contender ready for it.
	Open func(lab *Lab) (Subject, error)
	// Java does it for Redisson; nil: that is no contender.
	Java      func(lab *Lab) (Subject, error)
	NeedsJava bool // all contenders of it do
}

// Subject is one contender in one scenario.
type Subject interface {
	Measure(ctx context.Context) (measure.Figures, error)
	io.Closer
}

// Column is a figure that the table shows.
type Column struct{ Figure, Head string }

// MoreIsBetter tells turns from what they cost.
func (c Column) MoreIsBetter() bool { return c.Figure == measure.Rate }

// Sample is one contender's figures of one round.
type Sample struct {
	Scenario  string          `json:"scenario"`
	Contender string          `json:"contender"`
	Round     int             `json:"round"`
	Figures   measure.Figures `json:"figures"`
}

// Lab is what a contender finds in a scenario.
type Lab struct {
	Setting
	Contender string
	Servers   []*redisd.Server
	clients   int // that were opened
	meter     wire.Meter
}

// Gauge reads the counters of the scenario's servers and of this contender's connections.
func (l *Lab) Gauge() measure.Gauge { return measure.Gauge{Servers: l.Servers, Meter: &l.meter} }

// Client opens a client of the contender: another process's, as far as Redis can tell.
func (l *Lab) Client(lease time.Duration) (contender.Client, error) {
	t := contender.Target{Addrs: l.addrs(), Lease: lease, Meter: &l.meter}
	l.clients++
	client, err := contender.Open(l.Contender, t)
	if err != nil {
		return nil, err
	}
	return named{client, l.Contender + ":"}, nil
}

func (l *Lab) addrs() (addrs []string) {
	for _, s := range l.Servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// named gives each contender names of its own: what one has left behind on a frozen server, and what is
// carried out at its thaw, is in nobody's way.
type named struct {
	contender.Client
	prefix string
}

func (n named) Lock(names ...string) contender.Lock {
	own := make([]string, len(names))
	for i, name := range names {
		own[i] = n.prefix + name
	}
	return n.Client.Lock(own...)
}

// All are the scenarios in the order in which they are reported, those with Redisson where there is Java.
func All(java bool) []Scenario {
	all := slices.Concat(
		throughput(), hot(), mixed(), sections(), fair(), handover(), held(), crowd(), several(), quorum(), nested(),
	)
	if !java {
		return slices.DeleteFunc(all, func(s Scenario) bool { return s.NeedsJava })
	}
	for i, s := range all {
		if s.Java != nil {
			all[i].Contenders = slices.Concat(s.Contenders, []string{contender.Redisson})
		}
	}
	return all
}

// Run measures a scenario. Progress is told as it is made.
func Run(ctx context.Context, s Scenario, set Setting, progress io.Writer) (samples []Sample, err error) {
	var servers []*redisd.Server
	defer func() {
		for _, server := range servers {
			err = errors.Join(err, server.Close())
		}
	}()
	for range max(s.Servers, 1) {
		server, err := redisd.Start()
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	subjects := make([]Subject, len(s.Contenders))
	defer func() {
		for _, subject := range subjects {
			if subject != nil {
				err = errors.Join(err, subject.Close())
			}
		}
	}()
	for i, name := range s.Contenders {
		open := s.Open
		if name == contender.Redisson {
			open = s.Java
		}
		lab := &Lab{Setting: set, Contender: name, Servers: servers}
		if subjects[i], err = open(lab); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.ID, name, err)
		}
	}
	rounds := set.Rounds
	if s.Rounds != 0 && (set.Scale == Full || s.Rounds < rounds) {
		rounds = s.Rounds
	}
	for round := range rounds {
		fmt.Fprintf(progress, "%s: round %d of %d\n", s.ID, round+1, rounds)
		for i := range subjects {
			at := (i + round) % len(subjects)
			for _, server := range servers {
				if err := server.Empty(ctx); err != nil {
					return nil, err
				}
			}
			figures, err := subjects[at].Measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.ID, s.Contenders[at], err)
			}
			samples = append(samples, Sample{s.ID, s.Contenders[at], round, figures})
		}
	}
	return samples, nil
}
