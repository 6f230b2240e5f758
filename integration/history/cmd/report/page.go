package main

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/integration/history"
	"github.com/holdfast-go/holdfast/internal/pages"
)

// findings are what the histories of one call found.
type findings struct {
	command string
	began   time.Time
	rows    []row
}

// row is what one history found.
type row struct {
	title  string
	report *history.Report
	wrong  bool
}

func (f *findings) add(title string, report *history.Report, err error) {
	f.rows = append(f.rows, row{title, report, err != nil})
}

// write puts the table into a page, or prints it.
func (f *findings) write(page string) error {
	text := f.text(commit())
	if page == "" {
		_, err := fmt.Print(text)
		return err
	}
	return pages.Show(page, "histories", text)
}

// commit is that of the tree, as far as git knows.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "an unknown commit"
	}
	return strings.TrimSpace(string(out))
}

const head = "| servers | acquisitions | faults, kinds | overlaps | of them after a loss that the holder was told of " +
	"| tokens out of order | judged by Porcupine | longest wait after heal | holds, goroutines left " +
	"| heap of a client | took |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|\n"

// text is the table, with the command that made it. The last row is the sum: of figures that do not add up it has the
// greatest.
func (f *findings) text(commit string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, commit %s:\n\n%s", f.command, f.began.Format(time.DateOnly), commit, head)
	sum := &history.Report{Faults: make(map[string]int)}
	wrong := false
	for _, r := range f.rows {
		line(&b, r.title, r.report, r.wrong)
		wrong = wrong || r.wrong
		add(sum, r.report)
	}
	line(&b, "**all**", sum, wrong)
	return b.String()
}

func line(b *strings.Builder, title string, r *history.Report, wrong bool) {
	if wrong {
		title += " (**failed**)"
	}
	fmt.Fprintf(b, "| %s | %s | %s, %d | %d | %d | %d | %s | %.1f s | %d, %d | %.1f MB | %v |\n", title,
		pages.Number(r.Acquisitions), pages.Number(r.Injected()), len(r.Faults), r.Overlaps+r.Stale, r.Stale,
		r.Disorder, pages.Number(r.Linearized.Operations), r.LongestWait.Seconds(), r.Held, r.Goroutines,
		float64(r.Heap)/1e6, r.Duration.Round(time.Second))
}

// add adds the figures of a history to a sum.
func add(sum, r *history.Report) {
	sum.Acquisitions += r.Acquisitions
	sum.Overlaps += r.Overlaps
	sum.Stale += r.Stale
	sum.Disorder += r.Disorder
	sum.Linearized.Operations += r.Linearized.Operations
	sum.LongestWait = max(sum.LongestWait, r.LongestWait)
	sum.Held += r.Held
	sum.Goroutines += r.Goroutines
	sum.Heap = max(sum.Heap, r.Heap)
	sum.Duration += r.Duration
	for kind, n := range r.Faults {
		sum.Faults[kind] += n
	}
}
