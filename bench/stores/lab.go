package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
	"github.com/holdfast-go/holdfast/pglock"
)

// place is where a situation takes place: a database of its own, at some distance.
type place struct {
	db    *database
	url   string          // of the server
	conn  *pgx.Conn       // to the database, directly
	relay *distance.Relay // nil: clients and server are on one machine
}

func (db *database) place(ctx context.Context, d time.Duration) (_ *place, err error) {
	p := &place{db: db, url: db.server.Database(db.t)}
	statement, err := pglock.Migration("")
	if err != nil {
		return nil, err
	}
	if p.conn, err = pgx.Connect(ctx, p.url); err != nil {
		return nil, err
	}
	for _, sql := range []string{statement, "CREATE EXTENSION pgstattuple"} {
		if _, err := p.conn.Exec(ctx, sql); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	if d > 0 {
		if p.relay, err = distance.Open(d, []string{db.server.Addr(), db.bouncer.Addr()}); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func (p *place) close() error {
	err := p.conn.Close(context.Background())
	if p.relay != nil {
		err = errors.Join(err, p.relay.Close())
	}
	return err
}

// to is the connection string of a contender.
func (p *place) to(contender string) string {
	addrs := []string{p.db.server.Addr(), p.db.bouncer.Addr()}
	if p.relay != nil {
		addrs = p.relay.Addrs()
	}
	if contender == pooled {
		return via(p.url, addrs[1])
	}
	return via(p.url, addrs[0])
}

// lab is what a contender finds in a situation.
type lab struct {
	*place
	scenario.Scale
	contender string
	distance  time.Duration
	meter     wire.Meter
}

// client opens a client of the contender: another process's, as far as the server can tell.
func (l *lab) client(ctx context.Context, lease time.Duration) (contender.Client, error) {
	return open(ctx, l.contender, target{l.to(l.contender), lease, &l.meter})
}

// mark is a reading of the counters of the server, and of this process.
type mark struct {
	lab   *lab
	own   *measure.Mark
	spent spent
}

func (l *lab) mark(ctx context.Context) (*mark, error) {
	gauge := measure.Gauge{Meter: &l.meter}
	if l.relay != nil {
		gauge.Aside = l.relay.CPU
	}
	m := &mark{lab: l}
	var err error
	if m.spent, err = l.db.spent(ctx, l.conn.Config().Database); err != nil {
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
	now, err := m.lab.db.spent(ctx, m.lab.conn.Config().Database)
	if err != nil {
		return nil, err
	}
	figures, of := measure.Figures{}, usage.Per(ops)
	for _, name := range measure.OfThisProcess {
		figures[name] = of[name]
	}
	used, n := now.since(m.spent), float64(max(ops, 1))
	figures[statements], figures[working], figures[logBytes] = used.All/n, used.Working/n, used.Log/n
	figures[planning], figures[running] = 1e3*used.Planning/n, 1e3*used.Running/n
	return figures, nil
}

// situation is a scenario on PostgreSQL.
type situation struct {
	scenario.Scenario
	open func(ctx context.Context, lab *lab) (scenario.Subject, error)
}

// leastTrips is for how many round trips a contender is measured in one round at least.
const leastTrips = 20

func (s situation) run(
	ctx context.Context, db *database, scale scenario.Scale, d time.Duration, progress io.Writer,
) (samples []scenario.Sample, err error) {
	rounds := scale.Rounds
	if s.Rounds != 0 {
		rounds = min(rounds, s.Rounds)
	}
	scale.Slice = max(scale.Slice, leastTrips*d)
	at, err := db.place(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	subjects := make([]scenario.Subject, len(s.Contenders))
	defer func() {
		for _, subject := range subjects {
			if subject != nil {
				err = errors.Join(err, subject.Close())
			}
		}
	}()
	for i, name := range s.Contenders {
		if subjects[i], err = s.open(ctx, &lab{place: at, Scale: scale, contender: name, distance: d}); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.ID, name, err)
		}
	}
	return s.Compare(rounds, d, progress, func(turn int) (measure.Figures, error) {
		figures, err := subjects[turn].Measure(ctx)
		if err == nil && at.relay != nil {
			figures[measure.Late] = micros(at.relay.Late())
		}
		return figures, errors.Join(err, at.tidy(ctx, s.Contenders[turn]))
	})
}

// tidy takes away what a peer left behind whose request was cut off at the end: it would be in the way for a lease.
func (p *place) tidy(ctx context.Context, contender string) error {
	if !strings.HasPrefix(contender, peer) {
		return nil
	}
	_, err := p.conn.Exec(ctx, "DELETE FROM locks")
	return err
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
