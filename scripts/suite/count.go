package main

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

// tally counts the outcomes of tests.
type tally struct {
	passed, failed, skipped int
	again                   []string // the names of those that failed, and passed in a second run
}

// count prints the outcomes of the tests in files, on one line of its own, after the names of those that failed at
// first. It returns an error if a test failed, if more than again failed at first, or if there was none: no output must
// not count as success.
func count(files []string, again int, out io.Writer) error {
	var sum tally
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		part, err := tallyOf(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sum.passed += part.passed
		sum.failed += part.failed
		sum.skipped += part.skipped
		sum.again = append(sum.again, part.again...)
	}
	slices.Sort(sum.again)
	for _, name := range sum.again {
		fmt.Fprintf(out, "failed first, and passed when it was run again, alone: %s\n", name)
	}
	if sum.skipped > 0 {
		fmt.Fprintf(out, "%d skipped\n", sum.skipped)
	}
	if _, err := fmt.Fprintf(out, "%d passed, %d failed\n", sum.passed, sum.failed); err != nil {
		return err
	}
	switch {
	case sum.failed > 0:
		return fmt.Errorf("%d failed", sum.failed)
	case sum.passed == 0:
		return errors.New("no test was run")
	case len(sum.again) > again:
		return fmt.Errorf("%d failed first, and at most %d may", len(sum.again), again)
	}
	return nil
}

// tallyOf counts the tests of one run, including subtests. A test that ran again counts once, with its last outcome.
// A package that failed for another reason than its tests (it did not compile, or ended early) counts as a failure.
func tallyOf(events io.Reader) (tally, error) {
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
	var sum tally
	var again []string
	for test, end := range ends {
		switch end {
		case "pass":
			sum.passed++
			if failed[test] {
				again = append(again, test.Package+" "+test.Test)
			}
		case "skip":
			sum.skipped++
		default:
			sum.failed++
		}
		if failed[test] {
			explained[test.Package]++
		}
	}
	for name, is := range broken {
		if is && explained[name] == 0 {
			sum.failed++
		}
	}
	// A test fails with its subtests, and is not named beside them.
	for _, name := range again {
		if !slices.ContainsFunc(again, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			sum.again = append(sum.again, name)
		}
	}
	return sum, lines.Err()
}
