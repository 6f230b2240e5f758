// Command report runs histories on every kind of site, and writes what was found into a page: a table with a row for
// each, and their sum. Beside the page it keeps the figures as JSON, with seed, date and commit. Where it is told to
// run some of the histories only, the rows of the others stay. It exits with 1 if anything was wrong.
//
//	go run ./integration/history/cmd/report -acquisitions 1000000 -faults 5000 -page docs/histories.md
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/integration/history"
	"github.com/holdfast-go/holdfast/integration/redisson/program"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// part is one history, and its share of the acquisitions and faults in hundredths.
type part struct {
	title  string
	share  int
	faults int
	java   bool // clients of Redisson's contend with ours
	history.Config
}

// parts take about as long for their shares as the others for theirs: on etcd and ZooKeeper a lease lasts for five
// seconds, and what forgets has holders that stay inside for long, and so few acquisitions.
var parts = []part{
	{"one Redis", 48, 18, true, history.Config{Site: history.Single}},
	{"a cluster of three, whose slots move", 10, 12, true, history.Config{Site: history.Cluster}},
	{"Redis behind Sentinels", 6, 8, true, history.Config{Site: history.Sentinel}},
	{"redlock over five servers", 12, 12, false, history.Config{Site: history.Quorum}},
	{"PostgreSQL with a synchronous standby", 10, 14, false, history.Config{Site: history.Postgres}},
	{"PostgreSQL behind pgbouncer", 4, 5, false, history.Config{Site: history.Bouncer}},
	{"PostgreSQL, the old primary lives on", 2, 4, false, history.Config{
		Site: history.Deposed, Lease: 2 * time.Second,
	}},
	{"three etcd servers", 4, 6, false, history.Config{Site: history.Etcd}},
	{"three ZooKeeper servers", 4, 6, false, history.Config{Site: history.ZooKeeper}},
	{"etcd, the old leader comes back", 0, 2, false, history.Config{Site: history.Thawed}},
	{"Redis that forgets", 0, 7, false, history.Config{
		Site: history.Single, Lease: 1200 * time.Millisecond, Forgets: true,
	}},
	{"PostgreSQL that forgets", 0, 4, false, history.Config{
		Site: history.Postgres, Lease: 1200 * time.Millisecond, Forgets: true,
	}},
	{"etcd that forgets", 0, 2, false, history.Config{Site: history.Etcd, Forgets: true}},
}

// config is the history of a part of a whole.
func (p part) config(acquisitions, faults int, seed uint64, limit time.Duration, java string) history.Config {
	cfg := p.Config
	if p.java {
		cfg.Java = java
	}
	cfg.Faults = max(faults*p.faults/100, 25)
	cfg.Acquisitions = max(acquisitions*p.share/100, cfg.Faults)
	cfg.Seed, cfg.Limit = seed, limit
	cfg.Log = func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", time.Now().Format(time.TimeOnly), p.title, fmt.Sprintf(format, args...))
	}
	return cfg
}

func main() {
	role.Play()
	acquisitions := flag.Int("acquisitions", 1_000_000, "how many are made by all histories together")
	faults := flag.Int("faults", 5000, "how many happen")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "decides the faults")
	limit := flag.Duration("limit", 4*time.Hour, "for each history")
	page := flag.String("page", "", "the page to write the table into; none: it is printed")
	only := flag.String("only", "", "words with commas between: only histories with one of them in their titles; "+
		"what the page has of the others stays")
	together := flag.Int("together", 2, "how many run at a time")
	flag.Parse()
	java, err := program.ClassPath()
	var found *findings
	if err == nil {
		found, err = open(*page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	var running errgroup.Group
	running.SetLimit(*together)
	for _, p := range parts {
		if chosen(p.title, *only) {
			running.Go(func() error {
				report, wrong := run(p.config(*acquisitions, *faults, *seed, *limit, java))
				return errors.Join(wrong, found.add(p.title, report, wrong))
			})
		}
	}
	if err := running.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func chosen(title, only string) bool {
	for word := range strings.SplitSeq(only, ",") {
		if strings.Contains(title, word) { // every title contains the empty word
			return true
		}
	}
	return false
}

// run carries out one history.
func run(cfg history.Config) (report *history.Report, err error) {
	report = &history.Report{} // which stays if the servers fail
	ok := servers.Alone(func(t testing.TB) {
		if report, err = history.Run(t, cfg); err != nil {
			t.Errorf("%v", err)
		}
	})
	if !ok && err == nil {
		err = errors.New("the servers failed, as was said above")
	}
	return report, err
}
