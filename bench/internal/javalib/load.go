package javalib

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// Load is Java threads that lock and unlock without a pause, as [measure.Load] is goroutines.
type Load struct {
	Kind    string // lock, fair, read, write, permit
	Name    string
	Own     bool // each thread has a name of its own
	Threads int  // of each client
	For     time.Duration
}

// Outcome is what a load in a JVM came to.
type Outcome struct {
	measure.Outcome
	CPU     time.Duration // of the JVM
	Longest time.Duration // wait, also of those who had got nothing when the load ended
}

// Run runs the load once.
func (l Load) Run(ctx context.Context, j *Process) (Outcome, error) {
	text, err := j.Do(ctx, "load", "load", l.Kind, l.Name, strconv.FormatBool(l.Own), strconv.Itoa(l.Threads),
		strconv.FormatInt(max(l.For.Milliseconds(), 1), 10))
	if err != nil {
		return Outcome{}, fmt.Errorf("load in a JVM: %w", err)
	}
	return parse(text)
}

// Pass has two clients pass a lock to and fro, and returns how long each turn took from the release by one to the
// acquisition by the other one, which is given a time to get into its wait, and a random part of another time.
func (j *Process) Pass(
	ctx context.Context, kind, name string, turns int, settle, within time.Duration,
) (took []time.Duration, err error) {
	text, err := j.Do(ctx, "pass", "pass", kind, name, strconv.Itoa(turns),
		strconv.FormatInt(settle.Milliseconds(), 10), strconv.FormatInt(max(within.Milliseconds(), 1), 10))
	if err != nil {
		return nil, fmt.Errorf("turns in a JVM: %w", err)
	}
	return durations(text)
}

// parse reads what Load.java says of a run.
func parse(text string) (o Outcome, err error) {
	var lists [7][]time.Duration
	words := strings.Split(text, " ")
	if len(words) != len(lists) {
		return o, fmt.Errorf("a load's answer has %d words", len(words))
	}
	for i, word := range words {
		if lists[i], err = durations(word); err != nil {
			return o, err
		}
	}
	o.Elapsed, o.CPU, o.Absence, o.Longest = lists[0][0], lists[1][0], lists[2][0], lists[3][0]
	o.Waits, o.Both = lists[5], lists[6]
	for _, turns := range lists[4] {
		o.Turns = append(o.Turns, int(turns))
		o.Pairs += int(turns)
	}
	slices.Sort(o.Waits)
	slices.Sort(o.Both)
	return o, nil
}

// durations reads a list of nanoseconds.
func durations(text string) (all []time.Duration, err error) {
	for one := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("a load's answer: %w", err)
		}
		all = append(all, time.Duration(n))
	}
	return all, nil
}
