// Command stores runs this module's locks on Redis, PostgreSQL, etcd and ZooKeeper, which it starts, each beside those
// of others on the same server, and reports what each costs. bench/README.md says how to read what it writes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

func main() {
	role.Play() // as a process that crashes
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	ok := err == nil && servers.Alone(func(t testing.TB) {
		if err = run(ctx, t, s, os.Stdout, os.Stderr); err != nil {
			t.Errorf("%v", err)
		}
	})
	if !ok {
		os.Exit(1)
	}
}

type settings struct {
	args  []string
	out   string
	only  []string
	on    []*store
	at    []time.Duration
	scale scenario.Scale
}

func parse(args []string, progress io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("stores", flag.ContinueOnError)
	f.SetOutput(progress)
	f.StringVar(&s.out, "out", "", "directory for table.txt, summary.md and raw.json; none: only the table is printed")
	only := f.String("only", "", "comma-separated beginnings of scenarios to run; none: all")
	names := f.String("store", "redis,postgres,etcd,zookeeper", "comma-separated stores")
	quick := f.Bool("quick", false, "run everything once and briefly, to see that it works")
	at := f.String("at", "300us,0", "comma-separated distances, by round trip; 0: loopback")
	rounds := f.Int("rounds", 0, "rounds, if not the default number")
	slice := f.Duration("slice", 0, "time of one contender in one round, if not the default")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	s.args, s.only, s.scale = args, strings.Split(*only, ","), scenario.Scale{Rounds: 5, Slice: 700 * time.Millisecond}
	if s.on, err = chosen(*names); err != nil {
		return s, err
	}
	for one := range strings.SplitSeq(*at, ",") {
		d, err := time.ParseDuration(one)
		if err != nil || d < 0 {
			return s, fmt.Errorf("-at %s: not a list of distances", *at)
		}
		s.at = append(s.at, d)
	}
	if *quick {
		s.scale = scenario.Quick
	}
	if *rounds > 0 {
		s.scale.Rounds = *rounds
	}
	if *slice > 0 {
		s.scale.Slice = *slice
	}
	return s, nil
}

func run(ctx context.Context, t testing.TB, s settings, out, progress io.Writer) (err error) {
	raw := report.NewRaw(strings.TrimSpace("go run ./stores "+strings.Join(s.args, " ")), "")
	raw.Note = loadAverage()
	var sites []site
	for _, one := range s.on {
		server, err := one.start(ctx, t)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.close()) }()
		sites = append(sites, site{one, server, t})
		raw.Stores = append(raw.Stores, server.version())
	}
	var table strings.Builder
	w := io.MultiWriter(out, &table)
	fmt.Fprintf(w, "%s, %s, %d cores; %s; %s; %s\n", raw.Go, raw.System, raw.Cores, strings.Join(raw.Stores, "; "),
		raw.At.Format(time.DateOnly), raw.Note)
	var summary report.Summary
	if err := compare(ctx, sites, s, &raw, &summary, w, progress); err != nil || s.out == "" {
		return err
	}
	raw.Took = time.Since(raw.At).Round(time.Second).String()
	write := func(name, text string) error {
		return os.WriteFile(filepath.Join(s.out, name), []byte(text), 0o644)
	}
	return errors.Join(os.MkdirAll(s.out, 0o755), raw.Write(filepath.Join(s.out, "raw.json")),
		write("table.txt", table.String()), write("summary.md", summary.Markdown(raw)))
}

// loadAverage says how busy the machine was before: ratios of contenders that take turns bear that, figures do not.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return "load average when it began: " + fields[0]
	}
	return "load average when it began: unknown"
}

func compare(
	ctx context.Context, sites []site, s settings, raw *report.Raw, summary *report.Summary, w, progress io.Writer,
) error {
	at := slices.DeleteFunc(slices.Clone(s.at), func(d time.Duration) bool { return d > 0 && !distance.Available })
	for _, d := range at {
		for _, on := range sites {
			if d == 0 {
				continue
			}
			text, err := on.added(ctx, d)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s.\n", text)
			raw.Relays = append(raw.Relays, text)
		}
	}
	summary.Over(at)
	for _, one := range situations() {
		if !slices.ContainsFunc(s.only, func(start string) bool { return strings.HasPrefix(one.id, start) }) {
			continue
		}
		var groups []report.Group
		for _, on := range sites {
			group, err := measureOn(ctx, on, one, s.scale, at, raw, progress)
			if err != nil {
				return err
			}
			if group.Parts != nil {
				groups = append(groups, group)
				named := group.Scenario
				named.Title += ", " + on.title
				summary.Add(named, group.Parts)
			}
		}
		if len(groups) == 0 {
			continue
		}
		if err := report.Table(w, groups...); err != nil {
			return err
		}
	}
	return nil
}

// measureOn measures a situation on one store. There are no parts if nobody takes part.
func measureOn(
	ctx context.Context, on site, one situation, scale scenario.Scale, at []time.Duration, raw *report.Raw,
	progress io.Writer,
) (group report.Group, err error) {
	group.Scenario = on.scenario(one)
	if len(group.Scenario.Contenders) == 0 {
		return group, nil
	}
	for _, d := range group.Scenario.Distances(at) {
		samples, err := one.run(ctx, on, scale, d, progress)
		if err != nil {
			return group, fmt.Errorf("%s: %w", on.title, err)
		}
		group.Parts = append(group.Parts, report.Part{Distance: d, Samples: samples})
		raw.Scenarios = append(raw.Scenarios, report.Result{
			ID: one.id, Store: on.name, Title: one.title, Distance: distance.Name(d),
			Samples: samples, Verdicts: group.Scenario.Judge(samples, d),
		})
	}
	return group, nil
}
