package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/observe/prometheus/internal/recording"
	"github.com/holdfast-go/holdfast/zklock"
)

// outage is one way in which a server is away, and the alerts that fire just before it ends.
type outage struct {
	name, what string
	begin, end func(server)
	far        bool // the server is reached by its path, which can be slow, and cannot refuse connections
	alerts     []string
	more       map[lock.Store][]string // those of one store besides
}

const (
	storeAway     = `alertname="HoldfastStoreAway",severity="critical",job="%s",store="STORE"`
	nobodyGetsIn  = `alertname="HoldfastNobodyGetsIn",severity="critical",store="STORE",kind="rlock",class="nightly"`
	waitTakesLong = `alertname="HoldfastWaitTakesLong",severity="warning",store="STORE",kind="rlock",class="%s"`
)

// of names a program, or the class of its locks.
func of(alert, program string) string { return fmt.Sprintf(alert, program) }

var outages = []outage{
	{
		name: "hang", what: "it is stopped, so connections stay open and nothing is answered",
		begin: func(s server) { s.freeze() },
		end:   func(s server) { s.thaw() },
		alerts: []string{
			of(storeAway, tries), of(storeAway, waits), of(storeAway, holds), of(waitTakesLong, "try:*"), nobodyGetsIn,
		},
	},
	{
		name: "refuse", what: "it has ended, so connections end and new ones are refused",
		begin:  func(s server) { s.stop() },
		end:    func(s server) { s.restart() },
		alerts: []string{of(storeAway, tries), of(storeAway, waits), of(storeAway, holds), nobodyGetsIn},
	},
	{
		name: "slow", what: "each answer takes 1.2 s, which is later than those wait who wait briefly",
		begin:  func(s server) { s.path.Latency(600 * time.Millisecond) },
		end:    func(s server) { s.path.Latency(0) },
		far:    true,
		alerts: []string{of(storeAway, waits), of(waitTakesLong, "try:*")},
		// A call that waited while the session was attached, by two round trips, has too little time for a third.
		more: map[lock.Store][]string{zklock.Store: {of(storeAway, tries)}},
	},
}

// record runs the programs through the outage.
func (t *take) record(scope recording.Scope) error {
	at := t.server.addr
	if t.outage.far {
		at = t.server.path.Addr()
	}
	var programs []*program
	for _, name := range []string{tries, waits, holds} {
		p, err := start(name, t.server, at, scope)
		if err != nil {
			return err
		}
		programs = append(programs, p)
	}
	begin := time.Now()
	for at := time.Duration(0); at <= before+during+after; at += scrape {
		time.Sleep(time.Until(begin.Add(at)))
		if late := time.Since(begin) - at; late > scrape/5 {
			return fmt.Errorf("the scrape at %v comes %v late: this machine is too busy, or stood still", at, late)
		}
		for _, p := range programs {
			if err := p.tape.Scrape(p.registry); err != nil {
				return err
			}
		}
		switch at {
		case before:
			t.outage.begin(t.server)
		case before + during:
			t.outage.end(t.server)
		}
	}
	var errs []error
	for _, p := range programs {
		errs = append(errs, p.stop())
	}
	t.file = t.test(programs)
	return errors.Join(errs...)
}

// test is the test for promtool: what was recorded, and that the alerts fire just before the outage ends, and no other
// one; that none does before it begins; and that none does when all is well again.
func (t *take) test(programs []*program) string {
	var tapes []*recording.Tape
	for _, p := range programs {
		tapes = append(tapes, &p.tape)
	}
	var alerts []string
	for _, alert := range slices.Concat(t.outage.alerts, t.outage.more[lock.Store(t.store.name)]) {
		alerts = append(alerts, `ALERTS{alertstate="firing",`+strings.ReplaceAll(alert, "STORE", t.store.name)+`}`)
	}
	const firing = `ALERTS{alertstate="firing"}`
	return "# Recorded by observe/prometheus/internal/record. Do not edit.\n" + recording.Test(
		fmt.Sprintf("%s is away for %v, from %v on: %s", t.store.name, during, before, t.outage.what),
		"../rules.yml", scrape, tapes,
		[]recording.Check{
			{At: before, Expr: firing},
			{At: before + during, Expr: firing, Ones: alerts},
			{At: before + during + after, Expr: firing},
		})
}
