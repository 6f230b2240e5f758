package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/scripts/internal/tally"
)

// count prints the outcomes of the tests in files, on one line of its own, after the names of those that failed at
// first. It returns an error if a test failed, if more than again failed at first, or if there was none: no output must
// not count as success.
func count(files []string, again int, out io.Writer) error {
	sum, err := tally.OfFiles(files)
	if err != nil {
		return err
	}
	for _, name := range sum.Again {
		fmt.Fprintf(out, "failed first, and passed when it was run again, alone: %s\n", name)
	}
	if sum.Skipped > 0 {
		fmt.Fprintf(out, "%d skipped\n", sum.Skipped)
	}
	if _, err := fmt.Fprintf(out, "%d passed, %d failed\n", sum.Passed, sum.Failed); err != nil {
		return err
	}
	switch {
	case sum.Failed > 0:
		return fmt.Errorf("%d failed", sum.Failed)
	case sum.Passed == 0:
		return errors.New("no test was run")
	case len(sum.Again) > again:
		return fmt.Errorf("%d failed first, and at most %d may", len(sum.Again), again)
	}
	return nil
}
