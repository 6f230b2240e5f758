// Package scenario has what is measured: one file for each kind of situation that locks get into.
//
// A scenario has its own servers. Its contenders are opened once and measured in rounds, one after the
// other in every round and in an order that rotates, so that whatever else the machine does hits all of
// them; ratios are of figures of one round.
package scenario

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
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
	Java     *javalib.Program // nil: Redisson is not measured
	Etcd     testing.TB       // owns its servers; nil: etcd is not measured
	Distance time.Duration    // that a relay adds to each round trip; 0: there is none
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
	Servers    int            // 0: one
	Far        bool           // what is waited for are round trips, so it is measured over long distances too
	At         *time.Duration // the only distance at which it is measured; nil: at all that are asked for
	Rounds     int            // 0: as the scale says
	Columns    []Column
	Goals      []Goal

	// Open makes a contender ready for it.
	Open func(lab *Lab) (Subject, error)
	// Java does it for Redisson; nil: that is no contender.
	Java      func(lab *Lab) (Subject, error)
	NeedsJava bool // all contenders of it do
	NeedsEtcd bool // the same; Java is no contender then
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
	Etcd      *etcdtest.Server // nil: none
	Relay     *distance.Relay  // nil: clients and servers are on one machine
	clients   int              // that were opened
	meter     wire.Meter
}

// Gauge reads the counters of the scenario's servers and of this contender's connections.
func (l *Lab) Gauge() measure.Gauge {
	g := measure.Gauge{Servers: l.Servers, Meter: &l.meter}
	if l.Relay != nil {
		g.Aside = l.Relay.CPU
	}
	return g
}

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

// addrs are where the contender's servers are to be reached.
func (l *Lab) addrs() []string {
	addrs := (&site{servers: l.Servers, etcd: l.Etcd}).addrs()
	if l.Relay != nil {
		addrs = l.Relay.Addrs()
	}
	if l.Contender == contender.Etcd {
		return addrs[len(l.Servers):]
	}
	return addrs[:len(l.Servers)]
}

// named gives each contender names of its own: what one has left behind on a frozen server, and what is
// carried out at its thaw, is in nobody's way.
type named struct {
	contender.Client
	prefix string
}

func (n named) Lock(names ...string) contender.Lock { return n.Client.Lock(n.own(names)...) }

func (n named) own(names []string) []string {
	own := make([]string, len(names))
	for i, name := range names {
		own[i] = n.prefix + name
	}
	return own
}

// All are the scenarios in the order in which they are reported, those with Redisson and with etcd where there is such.
func All(set Setting) []Scenario {
	all := slices.Concat(
		throughput(), keep(), passing(), hot(), mixed(), sections(), fair(), handover(), held(), renewed(), crowd(),
		idle(), several(), quorum(), nested(), readers(), permits(), latches(), busy(), beyondRedis(),
	)
	all = slices.DeleteFunc(all, func(s Scenario) bool {
		return s.NeedsJava && set.Java == nil || s.NeedsEtcd && set.Etcd == nil
	})
	for i, s := range all {
		switch {
		case set.Java == nil:
			all[i].Goals = slices.DeleteFunc(all[i].Goals, func(g Goal) bool {
				return slices.Equal(g.To, []string{contender.Redisson})
			})
		case s.Java != nil:
			all[i].Contenders = slices.Concat(s.Contenders, []string{contender.Redisson})
		}
	}
	return all
}

// Distances are those of a list at which a scenario is measured.
func (s Scenario) Distances(list []time.Duration) []time.Duration {
	switch {
	case s.At == nil:
		return list
	case *s.At > 0 && !distance.Available:
		return nil
	}
	return []time.Duration{*s.At}
}
