// Command bench runs this module's locks and those of other libraries side by side and reports what
// each costs. It starts its own Redis servers. README.md says how to read what it writes.
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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok := servers.Alone(func(t testing.TB) {
		if err := run(ctx, t, os.Args[1:], os.Stdout, os.Stderr); err != nil {
			t.Errorf("bench: %v", err)
		}
	})
	if !ok {
		os.Exit(1)
	}
}

type settings struct {
	out     string
	only    string
	quick   bool
	scaling bool
	far     bool
	at      []time.Duration
	scale   scenario.Scale
}

func parse(args []string, progress io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(progress)
	f.StringVar(&s.out, "out", "", "directory for table.txt, summary.md, raw.json and the plots; "+
		"none: only the table is printed")
	f.StringVar(&s.only, "only", "", "comma-separated beginnings of scenarios to run; none: all")
	f.BoolVar(&s.quick, "quick", false, "run everything once and briefly, to see that it works")
	f.BoolVar(&s.scaling, "scaling", false, "measure how cost grows (SCALING.md) instead of comparing")
	f.BoolVar(&s.far, "far", false, "only the scenarios whose round trips are waited for, over long distances")
	at := f.String("at", "",
		"comma-separated distances, by round trip; 0: loopback; none: 300us,0, or if far 2ms,20ms,80ms")
	rounds := f.Int("rounds", 0, "rounds, if not the default number")
	slice := f.Duration("slice", 0, "time of one contender in one round, if not the default")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.at, err = distances(*at, s.far); err != nil {
		return s, err
	}
	s.scale = scenario.Full
	if s.quick {
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

// distances reads a list.
func distances(list string, far bool) (all []time.Duration, err error) {
	switch {
	case list != "":
	case far:
		list = "2ms,20ms,80ms"
	default:
		list = "300us,0"
	}
	for one := range strings.SplitSeq(list, ",") {
		d, err := time.ParseDuration(one)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("-at %s: not a list of distances", list)
		}
		all = append(all, d)
	}
	return all, nil
}

func run(ctx context.Context, t testing.TB, args []string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	version, err := redisVersion(ctx)
	if err != nil {
		return err
	}
	raw := report.NewRaw(strings.Join(append([]string{"go run ."}, args...), " "), version)
	if s.out != "" {
		if err := os.MkdirAll(s.out, 0o755); err != nil {
			return err
		}
	}
	var table strings.Builder
	var summary report.Summary
	var tables strings.Builder
	w := io.MultiWriter(out, &table)
	fmt.Fprintf(w, "%s, %s, %d cores, Redis %s, %s\n",
		raw.Go, raw.System, raw.Cores, raw.Redis, raw.At.Format(time.DateOnly))
	if s.scaling {
		err = grow(ctx, s, &raw, &tables, w, progress)
	} else {
		err = compare(ctx, t, s, &raw, &summary, w, progress)
	}
	if err != nil || s.out == "" {
		return err
	}
	raw.Took = time.Since(raw.At).Round(time.Second).String()
	write := func(name, text string) error {
		return os.WriteFile(filepath.Join(s.out, name), []byte(text), 0o644)
	}
	if s.scaling {
		return errors.Join(raw.Write(filepath.Join(s.out, "scaling.json")), write("scaling.txt", table.String()),
			write("scaling.md", raw.Provenance()+".\n\n"+tables.String()))
	}
	err = errors.Join(raw.Write(filepath.Join(s.out, "raw.json")), write("table.txt", table.String()),
		write("summary.md", summary.Markdown(raw)))
	if s.far { // round trips are the same at every distance, and counted by the other run
		return err
	}
	return errors.Join(err, write("trips.md", report.TripsMarkdown(raw.Trips)))
}

func wanted(id, only string) bool {
	if only == "" {
		return true
	}
	for _, start := range strings.Split(only, ",") {
		if strings.HasPrefix(id, start) {
			return true
		}
	}
	return false
}

func redisVersion(ctx context.Context) (string, error) {
	s, err := redisd.Start()
	if err != nil {
		return "", err
	}
	version, err := s.Version(ctx)
	return version, errors.Join(err, s.Close())
}
