package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
)

// timeline prints what happens and when.
type timeline struct {
	start    time.Time
	renewals atomic.Int64
}

func newTimeline() *timeline { return &timeline{start: time.Now()} }

func (t *timeline) head(title string) { fmt.Printf("\n%s\n", title) }

func (t *timeline) say(format string, args ...any) {
	fmt.Printf("%8.3fs  %s\n", time.Since(t.start).Seconds(), fmt.Sprintf(format, args...))
}

// check prints a finding, and returns an error unless ok.
func (t *timeline) check(ok bool, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if !ok {
		t.say("NOT SO: %s", what)
		return fmt.Errorf("not so: %s", what)
	}
	t.say("ok: %s", what)
	return nil
}

func (t *timeline) renewed(r rlock.Renewal) {
	if r.Err == nil && r.Name == name {
		t.renewals.Add(1)
	}
}
