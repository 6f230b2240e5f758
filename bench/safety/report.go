package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

var head = []string{
	"library", "fault", "claimed", "acquired", "hit", "overlaps", "longest", "refusable", "told", "told after", "kept", "not told",
	"nobody inside", "orphans", "wait after", "stuck", "free after", "tokens", "out of order",
}

// row is the line of a cell.
func (r result) row() []string {
	return []string{
		r.entry.name, r.fault.name, claimOf(r.entry, r.fault).mark(), fmt.Sprint(r.acquisitions), fmt.Sprint(r.hits),
		fmt.Sprint(len(r.overlaps)), dash(len(r.overlaps) > 0, short(r.longest())),
		dash(len(r.overlaps) > 0 && r.tokens > 0, fmt.Sprint(r.refusable)),
		fmt.Sprint(len(r.told)), span(r.told), fmt.Sprint(r.kept), fmt.Sprint(r.untold),
		short(r.unheld), fmt.Sprint(r.orphans), short(r.healWait), fmt.Sprint(r.stuck), r.free(),
		dash(r.tokens > 0, fmt.Sprint(r.tokens)), dash(r.tokens > 0, fmt.Sprint(r.disorder)),
	}
}

func (r result) free() string {
	if r.freeAfter < 0 {
		return "never"
	}
	return short(r.freeAfter)
}

// line is what is printed when a cell is over.
func (r result) line() string {
	text := fmt.Sprintf("%s in %v", strings.Join(r.row(), " | "), r.took.Round(time.Second))
	if r.err != nil {
		text += fmt.Sprintf(": %v", r.err)
	}
	return text
}

func dash(there bool, text string) string {
	if !there {
		return "–"
	}
	return text
}

// short is a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Millisecond / 10).String()
	}
	return d.Round(time.Microsecond).String()
}

func span(of []time.Duration) string {
	if len(of) == 0 {
		return "–"
	}
	if least, most := slices.Min(of), slices.Max(of); least != most {
		return short(least) + " to " + short(most)
	}
	return short(of[0])
}

// report prints the table, and writes it.
func report(s settings, results []result, took time.Duration, out io.Writer) error {
	var text, pages strings.Builder
	title := fmt.Sprintf("go run ./safety -seed %d, %s, %v: %s\n", s.seed, time.Now().UTC().Format(time.DateOnly),
		took.Round(time.Second), strings.Join(versions(results), ", "))
	text.WriteString(title + "\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(head, "\t"))
	for _, r := range results {
		fmt.Fprintln(table, strings.Join(r.row(), "\t"))
	}
	err := table.Flush()
	pages.WriteString("`" + strings.TrimSpace(strings.Replace(title, ",", "`,", 1)) + "\n")
	markdown(&pages, results)
	_, printErr := io.WriteString(out, text.String())
	if err = errors.Join(err, printErr); s.out == "" || err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.out, "safety.txt"), []byte(text.String()), 0o644),
		os.WriteFile(filepath.Join(s.out, "safety.md"), []byte(pages.String()), 0o644))
}

// markdown writes a table for each library, without the columns that are empty in all its rows.
func markdown(to *strings.Builder, results []result) {
	for i, r := range results {
		if i == 0 || results[i-1].entry.name != r.entry.name {
			fmt.Fprintf(to, "\n**%s**, lease %v: %s.\n\n", r.entry.name, r.entry.lease, r.entry.why)
			fmt.Fprintf(to, "| %s |\n|%s\n", strings.Join(head[1:], " | "), strings.Repeat("---|", len(head)-1))
		}
		fmt.Fprintf(to, "| %s |\n", strings.Join(r.row()[1:], " | "))
	}
}
