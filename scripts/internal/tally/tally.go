// Package tally counts the outcomes of tests in the events of go test -json.
package tally

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is an event of go test -json about a test, or about a package if Test is empty.
type event struct {
	Action, Package, Test string
}

// Tally is the outcomes of tests, including subtests.
type Tally struct {
	Passed, Failed, Skipped int
	Again                   []string // the names of those that failed, and passed in a second run
}

// OfFiles counts the tests of several runs, whose events are in files.
func OfFiles(files []string) (Tally, error) {
	var sum Tally
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return sum, err
		}
		part, err := of(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return sum, fmt.Errorf("%s: %w", name, err)
		}
		sum.Passed += part.Passed
		sum.Failed += part.Failed
		sum.Skipped += part.Skipped
		sum.Again = append(sum.Again, part.Again...)
	}
	slices.Sort(sum.Again)
	return sum, nil
}

// of counts the tests of one run, including subtests. A test that ran again counts once, with its last outcome.
// A package that failed for another reason than its tests (it did not compile, or ended early) counts as a failure.
func of(events io.Reader) (Tally, error) {
	ends := make(map[event]string)    // by test: its last outcome
	failed := make(map[event]bool)    // tests that failed once
	broken := make(map[string]bool)   // packages whose last end was a failure
	explained := make(map[string]int) // packages: tests of theirs that failed
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a line of the compiler's
		}
		switch e.Action {
		case "pass", "fail", "skip":
		default:
			continue
		}
		if e.Test == "" {
			broken[e.Package] = e.Action == "fail"
			continue
		}
		test := event{Package: e.Package, Test: e.Test}
		ends[test] = e.Action
		failed[test] = failed[test] || e.Action == "fail"
	}
	var sum Tally
	var again []string
	for test, end := range ends {
		switch end {
		case "pass":
			sum.Passed++
			if failed[test] {
				again = append(again, test.Package+" "+test.Test)
			}
		case "skip":
			sum.Skipped++
		default:
			sum.Failed++
		}
		if failed[test] {
			explained[test.Package]++
		}
	}
	for name, is := range broken {
		if is && explained[name] == 0 {
			sum.Failed++
		}
	}
	// A test fails with its subtests, and is not named beside them.
	for _, name := range again {
		if !slices.ContainsFunc(again, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			sum.Again = append(sum.Again, name)
		}
	}
	return sum, lines.Err()
}
