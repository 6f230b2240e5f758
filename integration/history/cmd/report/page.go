package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/integration/history"
	"github.com/holdfast-go/holdfast/internal/pages"
)

// findings are what the histories found whose rows are on a page.
type findings struct {
	page   string // "": the table is printed
	commit string
	mu     sync.Mutex // guards rows, the page, and the file beside it
	rows   []row
}

// row is what one history found.
type row struct {
	Title  string
	Date   string
	Commit string
	Wrong  string // an error; "": nothing was wrong
	Report *history.Report
}

// open reads what is on a page already.
func open(page string) (*findings, error) {
	f := &findings{page: page, commit: commit()}
	if page == "" {
		return f, nil
	}
	text, err := os.ReadFile(f.file())
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &f.rows)
	}
	return f, err
}

// file has the figures of the page.
func (f *findings) file() string { return strings.TrimSuffix(f.page, ".md") + ".json" }

// add puts what a history found in the place of what the last one with its title found.
func (f *findings) add(title string, report *history.Report, wrong error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := row{Title: title, Date: time.Now().Format(time.DateOnly), Commit: f.commit, Report: report}
	if wrong != nil {
		r.Wrong = wrong.Error()
	}
	f.rows = append(slices.DeleteFunc(f.rows, func(old row) bool { return old.Title == title }), r)
	slices.SortStableFunc(f.rows, func(a, b row) int { return place(a.Title) - place(b.Title) })
	if f.page == "" {
		_, err := fmt.Println(f.text())
		return err
	}
	text, err := json.MarshalIndent(f.rows, "", "  ")
	if err == nil {
		err = os.WriteFile(f.file(), append(text, '\n'), 0o644)
	}
	return errors.Join(err, pages.Show(f.page, "histories", f.text()))
}

func place(title string) int {
	return slices.IndexFunc(parts, func(p part) bool { return p.title == title })
}

// commit is that of the tree, as far as git knows.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "an unknown commit"
	}
	return strings.TrimSpace(string(out))
}

const head = "| servers | acquisitions | by Redisson | faults, kinds | overlaps " +
	"| of them after a loss that the holder was told of | tokens out of order | judged by Porcupine " +
	"| longest wait after heal | holds, goroutines left | heap of a client | took | date, commit |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"

// text is the table. The last row is the sum: of figures that do not add up it has the greatest.
func (f *findings) text() string {
	var b strings.Builder
	b.WriteString(head)
	sum := row{Title: "**all**", Report: &history.Report{
		Faults: make(map[string]int), Calls: make(map[string]int),
	}}
	for _, r := range f.rows {
		b.WriteString(r.line(r.Date + ", " + r.Commit))
		if r.Wrong != "" {
			sum.Wrong = r.Wrong
		}
		add(sum.Report, r.Report)
	}
	b.WriteString(sum.line(""))
	return b.String()
}

func (r row) line(when string) string {
	title, of := r.Title, r.Report
	if r.Wrong != "" {
		title += " (**failed**)"
	}
	return fmt.Sprintf("| %s | %s | %s | %s, %d | %d | %d | %d | %s | %.1f s | %d, %d | %.1f MB | %v | %s |\n", title,
		pages.Number(of.Acquisitions), pages.Number(of.ByRedisson()), pages.Number(of.Injected()), len(of.Faults),
		of.Overlaps+of.Stale, of.Stale, of.Disorder, pages.Number(of.Linearized.Operations), of.LongestWait.Seconds(),
		of.Held, of.Goroutines, float64(of.Heap)/1e6, of.Duration.Round(time.Second), when)
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
	for call, n := range r.Calls {
		sum.Calls[call] += n
	}
}
