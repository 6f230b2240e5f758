// Command history runs client processes under random faults and prints its findings, as a small table. It exits with
// 1 if anything was wrong.
//
//	go run ./integration/history/cmd/history -acquisitions 100000 -faults 500 -seed 1
//	go run ./integration/history/cmd/history -acquisitions 20000 -faults 200 -java
//	go run ./integration/history/cmd/history -acquisitions 2000 -faults 300 -lease 1200ms -forgets
//	go run ./integration/history/cmd/history -acquisitions 5000 -faults 50 -site cluster
//	go run ./integration/history/cmd/history -acquisitions 20000 -faults 200 -site postgres
//	go run ./integration/history/cmd/history -acquisitions 100000 -faults 100 -site etcd
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/integration/history"
	"github.com/holdfast-go/holdfast/integration/redisson/program"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

func main() {
	role.Play()
	cfg := history.Config{Log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
	}}
	flag.IntVar(&cfg.Acquisitions, "acquisitions", 100_000, "how many are made while faults are injected")
	flag.IntVar(&cfg.Faults, "faults", 500, "how many happen")
	flag.Uint64Var(&cfg.Seed, "seed", uint64(time.Now().UnixNano()), "decides the faults")
	flag.DurationVar(&cfg.Lease, "lease", 0, "of every hold (900ms; etcd and ZooKeeper: 5s)")
	flag.DurationVar(&cfg.Limit, "limit", 15*time.Minute, "for the acquisitions and faults")
	sites := "single, cluster, sentinel, redlock, postgres, postgres-deposed, pgbouncer, etcd, etcd-thawed or " +
		"zookeeper (single)"
	flag.Func("site", sites, func(site string) error {
		cfg.Site = history.Site(site)
		return nil
	})
	flag.BoolVar(&cfg.Forgets, "forgets", false, "the store is made to forget, and nothing else happens to it")
	flag.BoolVar(&cfg.Linger, "linger", false, "holders stay for long")
	flag.BoolFunc("java", "clients of Redisson's contend with ours, on single, cluster and sentinel",
		func(string) (err error) {
			cfg.Java, err = program.ClassPath()
			return err
		})
	export := flag.String("export", "", "file for the holds, one to a line, as JSON")
	flag.Parse()
	os.Exit(run(cfg, *export))
}

func run(cfg history.Config, export string) (code int) {
	ok := servers.Alone(func(t testing.TB) {
		report, err := history.Run(t, cfg)
		if printErr := report.Print(os.Stdout); printErr != nil {
			t.Errorf("%v", printErr)
		}
		if export != "" {
			err = errors.Join(err, write(report, export))
		}
		if err != nil {
			t.Errorf("%v", err)
		}
	})
	if !ok {
		return 1
	}
	return 0
}

func write(report *history.Report, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(report.Export(file), file.Close())
}
