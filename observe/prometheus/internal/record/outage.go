package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/observe/prometheus/internal/recording"
)

// outage is one way in which a Redis is away, and the alerts that fire just before it ends.
type outage struct {
	name, what string
	begin, end func(*netfault.Path)
	alerts     []string
}

const (
	storeAway = `ALERTS{alertname="HoldfastStoreAway",alertstate="firing",severity="critical",` +
		`job="%s",store="redis"}`
	renewalsFail = `ALERTS{alertname="HoldfastRenewalsFail",alertstate="firing",severity="warning",` +
		`store="redis",kind="rlock",class="nightly"}`
	holdLost = `ALERTS{alertname="HoldfastHoldLost",alertstate="firing",severity="critical",` +
		`store="redis",kind="rlock",class="nightly",reason="expired"}`
	nobodyGetsIn = `ALERTS{alertname="HoldfastNobodyGetsIn",alertstate="firing",severity="critical",` +
		`store="redis",kind="rlock",class="nightly"}`
	waitTakesLong = `ALERTS{alertname="HoldfastWaitTakesLong",alertstate="firing",severity="warning",` +
		`store="redis",kind="rlock",class="%s"}`
)

// of names a program, or the class of its locks.
func of(alert, program string) string { return fmt.Sprintf(alert, program) }

var outages = []outage{
	{
		name: "hang", what: "connections stay open, and nothing is answered",
		begin: func(p *netfault.Path) { p.Silence(true) },
		end:   func(p *netfault.Path) { p.Silence(false) },
		alerts: []string{
			of(storeAway, tries), of(storeAway, waits), of(storeAway, holds), of(waitTakesLong, "try:*"), nobodyGetsIn,
		},
	},
	{
		name: "refuse", what: "connections end, and new ones are refused",
		begin:  func(p *netfault.Path) { p.Refuse(true); p.Cut() },
		end:    func(p *netfault.Path) { p.Refuse(false) },
		alerts: []string{of(storeAway, tries), of(storeAway, waits), of(storeAway, holds), nobodyGetsIn},
	},
	{
		name: "slow", what: "each answer takes 1.2 s, which is later than those wait who wait briefly",
		begin:  func(p *netfault.Path) { p.Slow(1200 * time.Millisecond) },
		end:    func(p *netfault.Path) { p.Slow(0) },
		alerts: []string{of(storeAway, waits), of(waitTakesLong, "try:*")},
	},
}

// record runs the programs through the outage, and returns the file.
func (o *outage) record(addr string, scope recording.Scope) (file string, err error) {
	var path netfault.Path
	var programs []*program
	for _, name := range []string{tries, waits, holds} {
		p, err := start(name, addr, &path, scope)
		if err != nil {
			return "", err
		}
		programs = append(programs, p)
	}
	begin := time.Now()
	for at := time.Duration(0); at <= before+during+after; at += scrape {
		time.Sleep(time.Until(begin.Add(at)))
		for _, p := range programs {
			if err := p.tape.Scrape(p.registry); err != nil {
				return "", err
			}
		}
		switch at {
		case before:
			o.begin(&path)
		case before + during:
			o.end(&path)
		}
	}
	var errs []error
	for _, p := range programs {
		errs = append(errs, p.stop())
	}
	return o.file(programs), errors.Join(errs...)
}

// file is the test for promtool: what was recorded, and that the alerts fire just before the outage ends, and no other
// one; that none does before it begins; and that none does when all is well again.
func (o *outage) file(programs []*program) string {
	var tapes []*recording.Tape
	for _, p := range programs {
		tapes = append(tapes, &p.tape)
	}
	const firing = `ALERTS{alertstate="firing"}`
	return "# Recorded by observe/prometheus/internal/record. Do not edit.\n" + recording.Test(
		fmt.Sprintf("a Redis is away for %v, from %v on: %s", during, before, o.what), "../rules.yml", scrape, tapes,
		[]recording.Check{
			{At: before, Expr: firing},
			{At: before + during, Expr: firing, Ones: o.alerts},
			{At: before + during + after, Expr: firing},
		})
}
