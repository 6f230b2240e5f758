package main

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

// result is what a cell has found.
type result struct {
	entry entry
	fault fault
	seed  uint64
	took  time.Duration

	server string
	absent string // why the library was not run; empty: it was
	err    error  // of the harness: the cell says nothing then

	acquisitions int
	hits         int // faults that met a holder
	overlaps     []overlap
	// told is how long after the fault began, or its stop ended, each holder was told of a loss that was told.
	told      []time.Duration
	kept      int           // holders that still had the lock when they left
	untold    int           // holders that another one had overtaken when they left, and were not told
	byRelease int           // those of them whose release returned an error
	refusable int           // overlaps that a check of tokens at the data refuses: the earlier holder's is lower
	unheld    time.Duration // the longest time in which nobody was inside, from the first fault on
	orphans   int           // how often that was longer than a lease and 2 s
	tokens    int           // tokens, and those out of order
	disorder  int

	aftermath
}

// aftermath is what became of the lock and its callers when the last fault was over.
type aftermath struct {
	healWait  time.Duration // the longest wait of a call
	stuck     int           // calls that had not returned when the bound was over
	freeAfter time.Duration // how long a new process waited in the end; below 0: longer than the bound
	idle      interval      // before that process asked, and after all others had been told to pause
}

// slack is what a lease may be exceeded by, before the lock counts as left behind.
const slack = 2 * time.Second

func (c *cell) judge() result {
	visits := c.record.ended()
	r := result{
		entry: c.entry, fault: c.fault, seed: c.seed, err: c.err, server: c.place.version,
		acquisitions: len(visits), hits: len(c.hit), overlaps: overlaps(visits), aftermath: c.aftermath,
	}
	for _, h := range c.hit {
		r.count(h, c.copied(h.holder))
	}
	for _, o := range r.overlaps {
		if o.earlier.Fence < o.later.Fence {
			r.refusable++
		}
	}
	r.unheld, r.orphans = unheld(visits, c.firstAt, c.entry.lease+slack, c.idle)
	live := make([]witness.Hold, 0, len(visits))
	for _, v := range visits {
		if v.Fence != 0 {
			live = append(live, v.Hold)
		}
	}
	r.tokens, r.disorder = len(live), len(witness.Disorder(live))
	return r
}

// count says what became of the holder whom a fault met.
func (r *result) count(h hit, v visit) {
	overtaken := slices.ContainsFunc(r.overlaps, func(o overlap) bool { return o.earlier.From == v.From })
	switch {
	case r.fault.victim == killed:
	case v.Told > 0 && r.fault.victim == stopped:
		r.told = append(r.told, v.Told-h.healed)
	case v.Told > 0:
		r.told = append(r.told, v.Told-h.at)
	case overtaken:
		r.untold++
		if v.Refused {
			r.byRelease++
		}
	default:
		r.kept++
	}
}

// longest is how long a holder went on after another one had the lock, at most.
func (r result) longest() (longest time.Duration) {
	for _, o := range r.overlaps {
		longest = max(longest, o.beyond)
	}
	return longest
}
