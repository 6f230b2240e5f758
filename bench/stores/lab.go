package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
)

// site is a store whose server runs.
type site struct {
	*store
	server server
	t      testing.TB // that owns it, and processes that are started beside it
}

// added tells what the relay of a distance really adds to a round trip.
func (s site) added(ctx context.Context, d time.Duration) (text string, err error) {
	direct := s.server.addrs()[0]
	relay, err := distance.Open(d, []string{direct})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, relay.Close()) }()
	var asks [2]func() error
	for i, addr := range []string{direct, relay.Addrs()[0]} {
		ask, hangUp, err := s.server.asker(ctx, addr)
		if err != nil {
			return "", err
		}
		defer func() { _ = hangUp() }()
		if err := ask(); err != nil { // it connects now, if it has not yet
			return "", err
		}
		asks[i] = ask
	}
	const times = 100
	got, err := distance.Compare(asks[0], asks[1], times)
	return fmt.Sprintf("%s, %s: the relay really adds %v to a round trip (99 %% of them: at most %v)",
		s.title, distance.Name(d), got.P50.Round(time.Microsecond), got.P99.Round(time.Microsecond)), err
}

// lab is what a contender finds in a situation.
type lab struct {
	site
	scenario.Scale
	place     place
	contender string
	prefix    string          // of its names: those of others are never in its way
	relay     *distance.Relay // nil: clients and server are on one machine
	distance  time.Duration
	meter     wire.Meter
}

// target is what a client of the contender is opened for.
func (l *lab) target(lease time.Duration) target {
	to := target{Addrs: l.server.addrs(), URL: l.place.url(), Lease: lease, meter: &l.meter}
	if l.relay != nil {
		to.Addrs = l.relay.Addrs()
	}
	return to
}

// client opens a client of the contender: another process's, as far as the server can tell.
func (l *lab) client(ctx context.Context, lease time.Duration) (contender.Client, error) {
	client, err := l.open(ctx, l.contender, l.target(lease))
	if err != nil {
		return nil, err
	}
	return named{client, l.prefix}, nil
}

// named is a client of a contender with names of its own.
type named struct {
	contender.Client
	prefix string
}

func (n named) Lock(names ...string) contender.Lock { return n.Client.Lock(n.prefix + names[0]) }

// mark is a reading of the counters of the server, and of this process.
type mark struct {
	lab   *lab
	own   *measure.Mark
	spent measure.Figures
}

func (l *lab) mark(ctx context.Context) (*mark, error) {
	gauge := measure.Gauge{Meter: &l.meter}
	if l.relay != nil {
		gauge.Aside = l.relay.CPU
	}
	m := &mark{lab: l}
	var err error
	if m.spent, err = l.place.spent(ctx); err != nil {
		return nil, err
	}
	m.own, err = gauge.Mark(ctx)
	return m, err
}

// per is what was used since, divided by a number of operations.
func (m *mark) per(ctx context.Context, ops int) (measure.Figures, error) {
	usage, err := m.own.Since(ctx)
	if err != nil {
		return nil, err
	}
	now, err := m.lab.place.spent(ctx)
	if err != nil {
		return nil, err
	}
	figures, of := measure.Figures{}, usage.Per(ops)
	for _, name := range measure.OfThisProcess {
		figures[name] = of[name]
	}
	for name, sum := range now {
		figures[name] = (sum - m.spent[name]) / float64(max(ops, 1))
	}
	return figures, nil
}

// situation is what a contender of any store is put in. What it is on one store, [store.scenario] says.
type situation struct {
	id, title string
	columns   []scenario.Column
	rounds    int            // 0: as the scale says
	at        *time.Duration // the only distance at which it is measured; nil: at all that are asked for
	special   bool           // only those take part that a store names for it
	open      func(ctx context.Context, lab *lab) (scenario.Subject, error)
}

// leastTrips is for how many round trips a contender is measured in one round at least.
const leastTrips = 20

func (s situation) run(
	ctx context.Context, on site, scale scenario.Scale, d time.Duration, progress io.Writer,
) (samples []scenario.Sample, err error) {
	one := on.scenario(s)
	rounds := scale.Rounds
	if s.rounds != 0 {
		rounds = min(rounds, s.rounds)
	}
	scale.Slice = max(scale.Slice, leastTrips*d)
	at, err := on.server.place(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	var relay *distance.Relay
	if d > 0 {
		if relay, err = distance.Open(d, on.server.addrs()); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, relay.Close()) }()
	}
	subjects := make([]scenario.Subject, len(one.Contenders))
	defer func() {
		for _, subject := range subjects {
			if subject != nil {
				err = errors.Join(err, subject.Close())
			}
		}
	}()
	for i, name := range one.Contenders {
		room := &lab{
			site: on, Scale: scale, place: at, relay: relay, distance: d,
			contender: name, prefix: strconv.Itoa(i) + ":",
		}
		if subjects[i], err = s.open(ctx, room); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.id, name, err)
		}
	}
	return one.Compare(rounds, d, progress, func(turn int) (measure.Figures, error) {
		figures, err := subjects[turn].Measure(ctx)
		if err == nil && relay != nil {
			figures[measure.Late] = micros(relay.Late())
		}
		return figures, errors.Join(err, at.tidy(ctx, one.Contenders[turn]))
	})
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
