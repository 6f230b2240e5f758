package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/trips"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

// compare runs the scenarios.
func compare(
	ctx context.Context, t testing.TB, s settings, raw *report.Raw, summary *report.Summary, w, progress io.Writer,
) error {
	set := scenario.Setting{Scale: s.scale}
	java, err := javalib.Build(ctx, javalib.Redisson)
	if err == nil {
		defer func() { _ = java.Close() }()
		set.Java, raw.Modules[report.Redisson] = java, java.Version
	} else {
		fmt.Fprintf(w, "Redisson is not measured: %v.\n", err)
	}
	if version, err := etcdtest.Version(); err == nil {
		set.Etcd, raw.Modules[report.Etcd] = t, version
	} else {
		fmt.Fprintf(w, "etcd is not measured: %v.\n", err)
	}
	at := added(s, raw, w)
	summary.Over(at)
	if err := countTrips(ctx, s, set.Java, raw, w); err != nil {
		return err
	}
	for _, one := range scenario.All(set) {
		if !wanted(one.ID, s.only) || s.far && !one.Far {
			continue
		}
		var parts []report.Part
		for _, d := range one.Distances(at) {
			set.Distance = d
			samples, err := scenario.Run(ctx, one, set, progress)
			if err != nil {
				return err
			}
			parts = append(parts, report.Part{Distance: d, Samples: samples})
			raw.Scenarios = append(raw.Scenarios, report.Result{
				ID: one.ID, Title: one.Title, Distance: distance.Name(d),
				Samples: samples, Verdicts: one.Judge(samples, d),
			})
		}
		if len(parts) == 0 {
			continue
		}
		if err := report.Table(w, report.Group{Scenario: one, Parts: parts}); err != nil {
			return err
		}
		summary.Add(one, parts)
		if err := plots(s.out, one, parts); err != nil {
			return err
		}
	}
	return nil
}

// countTrips counts before anything is timed: what is counted is the same on any machine.
func countTrips(ctx context.Context, s settings, java *javalib.Program, raw *report.Raw, w io.Writer) (err error) {
	if s.far || !distance.Available || !wanted("trips", s.only) {
		return nil
	}
	if raw.Trips, err = trips.Count(ctx, java); err != nil {
		return err
	}
	return report.Trips(w, raw.Trips)
}

func plots(out string, one scenario.Scenario, parts []report.Part) error {
	if out == "" {
		return nil
	}
	for i, part := range parts {
		if err := report.WritePlot(out, report.PlotName(one.ID, i, part.Distance), report.Bars(one, part)); err != nil {
			return err
		}
	}
	return nil
}

// added tells what the relay of each distance really adds, and leaves out those that this machine cannot add.
func added(s settings, raw *report.Raw, w io.Writer) []time.Duration {
	return slices.DeleteFunc(slices.Clone(s.at), func(d time.Duration) bool {
		if d == 0 {
			return false
		}
		text, err := measureAdded(d, s.scale.Quick)
		if err != nil {
			text = fmt.Sprintf("%s is not measured: %v", distance.Name(d), err)
		}
		fmt.Fprintf(w, "%s.\n", text)
		raw.Relays = append(raw.Relays, text)
		return err != nil
	})
}

func measureAdded(d time.Duration, quick bool) (text string, err error) {
	server, err := redisd.Start()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	relay, err := distance.Open(d, []string{server.Addr()})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, relay.Close()) }()
	asks := 100
	if quick {
		asks = 10
	}
	got, err := distance.Measure(server.Addr(), relay.Addrs()[0], asks)
	return fmt.Sprintf("%s: the relay really adds %v to a round trip (99 %% of them: at most %v)",
		distance.Name(d), got.P50.Round(time.Microsecond), got.P99.Round(time.Microsecond)), err
}
