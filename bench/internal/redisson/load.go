package redisson

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
		return Outcome{}, fmt.Errorf("load by Redisson: %w", err)
	}
	return parse(text)
}

// parse reads what Load.java says of a run.
func parse(text string) (o Outcome, err error) {
	var lists [7][]time.Duration
	words := strings.Split(text, " ")
	if len(words) != len(lists) {
		return o, fmt.Errorf("a load's answer has %d words", len(words))
	}
	for i, word := range words {
		for one := range strings.SplitSeq(word, ",") {
			n, err := strconv.ParseInt(one, 10, 64)
			if err != nil {
				return o, fmt.Errorf("a load's answer: %w", err)
			}
			lists[i] = append(lists[i], time.Duration(n))
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
