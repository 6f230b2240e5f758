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
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/bench/internal/redisson"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type settings struct {
	out     string
	only    string
	quick   bool
	scaling bool
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
	rounds := f.Int("rounds", 0, "rounds, if not the default number")
	slice := f.Duration("slice", 0, "time of one contender in one round, if not the default")
	if err := f.Parse(args); err != nil {
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

func run(ctx context.Context, args []string, out, progress io.Writer) error {
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
		err = compare(ctx, s, &raw, &summary, w, progress)
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
	return errors.Join(raw.Write(filepath.Join(s.out, "raw.json")), write("table.txt", table.String()),
		write("summary.md", summary.Markdown(raw)))
}

// compare runs the scenarios.
func compare(
	ctx context.Context, s settings, raw *report.Raw, summary *report.Summary, w, progress io.Writer,
) error {
	set := scenario.Setting{Scale: s.scale}
	java, err := redisson.Build(ctx)
	if err == nil {
		defer func() { _ = java.Close() }()
		set.Java, raw.Modules[report.Redisson] = java, java.Version
	} else {
		fmt.Fprintf(w, "Redisson is not measured: %v.\n", err)
	}
	for _, one := range scenario.All(set.Java != nil) {
		if !wanted(one.ID, s.only) {
			continue
		}
		samples, err := scenario.Run(ctx, one, set, progress)
		if err != nil {
			return err
		}
		if err := report.Table(w, one, samples); err != nil {
			return err
		}
		summary.Add(one, samples)
		raw.Scenarios = append(raw.Scenarios, report.Result{
			ID: one.ID, Title: one.Title, Samples: samples, Verdicts: one.Judge(samples),
		})
		if s.out == "" {
			continue
		}
		if err := report.WritePlot(s.out, one.ID, report.Bars(one, samples)); err != nil {
			return err
		}
	}
	return nil
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
