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
	"library", "fault", "claimed", "acquired", "hit", "overlaps", "longest", "refusable", "told", "told after",
	"kept", "not told", "nobody inside", "orphans", "wait after", "stuck", "free after", "tokens", "out of order",
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
		os.WriteFile(filepath.Join(s.out, "safety.md"), []byte(pages.String()), 0o644),
		show(s.page, pages.String()))
}

// What a page shows of the results stands between these.
const before, after = "<!-- safety -->\n", "<!-- /safety -->\n"

// show brings a page up to date.
func show(page, tables string) error {
	if page == "" {
		return nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	lead, rest, found := strings.Cut(string(text), before)
	_, tail, ends := strings.Cut(rest, after)
	if !found || !ends {
		return fmt.Errorf("%s has no place for the tables", page)
	}
	return os.WriteFile(page, []byte(lead+before+tables+after+tail), 0o644)
}

// matrices are the tables of the page: a row for each library, a column for each fault.
var matrices = []struct {
	title string
	cell  func(r result) string
}{
	{"Overlaps: how often, and how long the earlier holder went on at most", result.overlapCell},
	{"The holder was told of its loss after", result.toldCell},
	{"Nobody inside, at most, while others waited", result.unheldCell},
}

// markdown writes these, and what the rows and columns are.
func markdown(to *strings.Builder, results []result) {
	var columns []string
	var of strings.Builder
	for _, f := range faults {
		if slices.ContainsFunc(results, func(r result) bool { return r.fault.name == f.name }) {
			columns = append(columns, f.name)
			fmt.Fprintf(&of, "| %s | %s |\n", f.name, f.what)
		}
	}
	writeMatrices(to, results, columns)
	fmt.Fprintf(to, "\n**The faults**\n\n| fault | what happens |\n|---|---|\n%s", of.String())
	to.WriteString("\n**The libraries**\n\n| library | on | lease | how it is used |\n|---|---|---|---|\n")
	for _, e := range entries {
		if slices.ContainsFunc(results, func(r result) bool { return r.entry.name == e.name }) {
			fmt.Fprintf(to, "| %s | %s | %v | %s |\n", e.name, e.store, e.lease, e.why)
		}
	}
}

func writeMatrices(to *strings.Builder, results []result, columns []string) {
	for _, m := range matrices {
		fmt.Fprintf(to, "\n**%s**\n\n| library (lease) | %s |\n|%s\n", m.title, strings.Join(columns, " | "),
			strings.Repeat("---|", len(columns)+1))
		for _, e := range entries {
			of := make([]string, len(columns))
			for _, r := range results {
				if r.entry.name == e.name {
					of[slices.Index(columns, r.fault.name)] = m.cell(r)
				}
			}
			if strings.Join(of, "") != "" {
				fmt.Fprintf(to, "| %s (%v) | %s |\n", e.name, e.lease, strings.Join(of, " | "))
			}
		}
	}
}

// overlapCell marks what the documentation of the library does not claim.
func (r result) overlapCell() string {
	text := "0"
	if len(r.overlaps) > 0 {
		text = fmt.Sprintf("**%d**, %s", len(r.overlaps), short(r.longest()))
	}
	if r.stuck > 0 {
		text += fmt.Sprintf(", %d stuck", r.stuck)
	}
	return text + map[claim]string{silent: " °", denied: " *"}[claimOf(r.entry, r.fault)]
}

func (r result) toldCell() string {
	switch {
	case r.hits == 0 || r.fault.victim == killed:
		return "–"
	case len(r.told) == 0 && r.untold == 0:
		return "kept it"
	case r.untold > 0:
		return fmt.Sprintf("%s; **%d not told**", span(r.told), r.untold)
	}
	return span(r.told)
}

func (r result) unheldCell() string {
	text := short(r.unheld)
	if r.orphans > 0 {
		text += fmt.Sprintf(" (%d above the lease)", r.orphans)
	}
	if r.freeAfter < 0 {
		text += ", never free"
	}
	return text
}
