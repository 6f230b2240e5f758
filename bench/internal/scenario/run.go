package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

// leastTrips is for how many round trips a contender is measured in one round at least.
const leastTrips = 20

// site is where a scenario takes place.
type site struct {
	servers []*redisd.Server
	etcd    *etcdtest.Server // nil: none
	relay   *distance.Relay  // nil: none
}

// addrs are the servers' own, etcd's the last.
func (s *site) addrs() (addrs []string) {
	for _, server := range s.servers {
		addrs = append(addrs, server.Addr())
	}
	if s.etcd != nil {
		addrs = append(addrs, s.etcd.Addr())
	}
	return addrs
}

func (s Scenario) site(set Setting) (_ *site, err error) {
	at := &site{}
	for range max(s.Servers, 1) {
		server, err := redisd.Start()
		if err != nil {
			return nil, errors.Join(err, at.Close())
		}
		at.servers = append(at.servers, server)
	}
	if s.NeedsEtcd {
		at.etcd = etcdtest.Start(set.Etcd, "--unsafe-no-fsync=false") // it waits for the disk, as by default
	}
	if set.Distance == 0 {
		return at, nil
	}
	if at.relay, err = distance.Open(set.Distance, at.addrs()); err != nil {
		return nil, errors.Join(err, at.Close())
	}
	return at, nil
}

// Close ends the relay first: it still has what the servers are to be told.
func (s *site) Close() error {
	var errs []error
	if s.relay != nil {
		errs = append(errs, s.relay.Close())
	}
	if s.etcd != nil {
		s.etcd.Kill()
	}
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

func (s *site) empty(ctx context.Context) error {
	for _, server := range s.servers {
		if err := server.Empty(ctx); err != nil {
			return err
		}
	}
	return nil
}

// subject opens the i-th contender.
func (s Scenario) subject(i int, at *site, set Setting) (Subject, error) {
	open, name := s.Open, s.Contenders[i]
	if name == contender.Redisson {
		open = s.Java
	}
	lab := &Lab{Setting: set, Contender: name, Servers: at.servers, Etcd: at.etcd, Relay: at.relay}
	subject, err := open(lab)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.ID, name, err)
	}
	return subject, nil
}

// Run measures a scenario. Progress is told as it is made. A peer of which a waiter is never woken has no figures of
// that round; if that happens to one of ours, the run fails.
func Run(ctx context.Context, s Scenario, set Setting, progress io.Writer) (samples []Sample, err error) {
	rounds := set.Rounds
	if s.Rounds != 0 && (set.Scale == Full || s.Rounds < rounds) {
		rounds = s.Rounds
	}
	set.Slice = max(set.Slice, leastTrips*set.Distance)
	at, err := s.site(set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	subjects := make([]Subject, len(s.Contenders))
	defer func() {
		for _, subject := range subjects {
			if subject != nil {
				err = errors.Join(err, subject.Close())
			}
		}
	}()
	for i := range s.Contenders {
		if subjects[i], err = s.subject(i, at, set); err != nil {
			return nil, err
		}
	}
	return s.Compare(rounds, set.Distance, progress, func(turn int) (measure.Figures, error) {
		if err := at.empty(ctx); err != nil {
			return nil, err
		}
		figures, err := subjects[turn].Measure(ctx)
		if errors.Is(err, errNeverWoken) && !contender.IsOurs(s.Contenders[turn]) {
			fmt.Fprintf(progress, "%s: %s: %v\n", s.ID, s.Contenders[turn], err)
			_ = subjects[turn].Close() // its waiter may be there still
			figures = measure.Figures{measure.Stuck: 1}
			subjects[turn], err = s.subject(turn, at, set)
		}
		if err == nil && at.relay != nil {
			figures[measure.Late] = micros(at.relay.Late())
		}
		return figures, err
	})
}

// Compare measures each contender, by its number, once in every round, in an order that rotates.
func (s Scenario) Compare(
	rounds int, d time.Duration, progress io.Writer, one func(contender int) (measure.Figures, error),
) (samples []Sample, err error) {
	for round := range rounds {
		fmt.Fprintf(progress, "%s, %s: round %d of %d\n", s.ID, distance.Name(d), round+1, rounds)
		for i := range s.Contenders {
			turn := (i + round) % len(s.Contenders)
			figures, err := one(turn)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.ID, s.Contenders[turn], err)
			}
			samples = append(samples, Sample{s.ID, s.Contenders[turn], round, figures})
		}
	}
	return samples, nil
}
