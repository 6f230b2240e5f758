package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// table is what safety.txt has: the figures of cells, and the runs that measured them.
type table struct {
	runs []string // their titles
	rows []row
}

// row has the figures of one cell.
type row struct {
	run   int // of those of the table, from 1
	cells []string
}

func (r row) of(column string) string { return r.cells[slices.Index(head, column)] }

// is reports whether it is the row of a cell.
func (r row) is(e entry, f fault) bool { return r.of("library") == e.name && r.of("fault") == f.name }

func tableOf(title string, results []result) table {
	t := table{runs: []string{title}}
	for _, r := range results {
		t.rows = append(t.rows, row{1, r.row()})
	}
	return t
}

// over has all cells of t, and those of an older table that t lacks, in the order of the entries and faults. What is
// among them no longer is left out, and so is a run of which no cell is left.
func (t table) over(old table) table {
	all := table{runs: append(slices.Clone(old.runs), t.runs...)}
	for _, e := range entries {
		for _, f := range faults {
			this := func(r row) bool { return r.is(e, f) }
			if i := slices.IndexFunc(t.rows, this); i >= 0 {
				all.rows = append(all.rows, row{t.rows[i].run + len(old.runs), t.rows[i].cells})
			} else if i := slices.IndexFunc(old.rows, this); i >= 0 {
				all.rows = append(all.rows, old.rows[i])
			}
		}
	}
	return all.renumbered()
}

func (t table) renumbered() table {
	var runs []string
	numbers := make(map[int]int)
	for i, title := range t.runs {
		if slices.ContainsFunc(t.rows, func(r row) bool { return r.run == i+1 }) {
			runs = append(runs, title)
			numbers[i+1] = len(runs)
		}
	}
	for i := range t.rows {
		t.rows[i].run = numbers[t.rows[i].run]
	}
	return table{runs, t.rows}
}

// text is the table as safety.txt has it, which parseTable reads.
func (t table) text() string {
	var text strings.Builder
	for i, title := range t.runs {
		fmt.Fprintf(&text, "%d. %s\n", i+1, title)
	}
	text.WriteString("\n")
	lines := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "run\t"+strings.Join(head, "\t"))
	for _, r := range t.rows {
		fmt.Fprintf(lines, "%d\t%s\n", r.run, strings.Join(r.cells, "\t"))
	}
	_ = lines.Flush() // a Builder takes everything
	return text.String()
}

var columns = regexp.MustCompile(` {2,}`)

// parseTable reads what text has written, also with fewer columns than today's. No text is an empty table.
func parseTable(text string) (t table, err error) {
	titles, lines, _ := strings.Cut(text, "\n\n")
	for title := range strings.Lines(titles) {
		_, title, _ = strings.Cut(strings.TrimSuffix(title, "\n"), ". ")
		t.runs = append(t.runs, title)
	}
	var names []string
	for line := range strings.Lines(lines) {
		words := columns.Split(strings.TrimSpace(line), -1)
		if names == nil {
			names = words
			continue
		}
		run, err := strconv.Atoi(words[0])
		if err != nil || len(words) != len(names) || run < 1 || run > len(t.runs) {
			return t, fmt.Errorf("no row of a table: %q", line)
		}
		r := row{run: run}
		for _, name := range head {
			if i := slices.Index(names, name); i >= 0 {
				r.cells = append(r.cells, words[i])
			} else {
				r.cells = append(r.cells, "–")
			}
		}
		t.rows = append(t.rows, r)
	}
	return t, nil
}
