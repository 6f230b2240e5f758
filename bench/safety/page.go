package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// matrices are the tables of the page: a row for each library, a column for each fault.
var matrices = []struct {
	title string
	cell  func(r row) string
}{
	{"Overlaps: how often, and how long the earlier holder went on at most", overlapCell},
	{"The holder was told of its loss after", toldCell},
	{"Nobody inside, at most, while others waited", unheldCell},
}

// dated is where the command of a run's title ends.
var dated = regexp.MustCompile(`, \d{4}-\d\d-\d\d, `)

// markdown is the table as the page shows it: the runs, the matrices, and what their rows and columns are.
func (t table) markdown() string {
	var to strings.Builder
	for i, title := range t.runs {
		title = "`" + dated.ReplaceAllString(title, "`$0")
		if len(t.runs) > 1 {
			title = fmt.Sprintf("%d. %s", i+1, title)
		}
		to.WriteString(title + "\n")
	}
	var shown []fault
	var of strings.Builder
	for _, f := range faults {
		if slices.ContainsFunc(t.rows, func(r row) bool { return r.of("fault") == f.name }) {
			shown = append(shown, f)
			fmt.Fprintf(&of, "| %s | %s |\n", f.name, f.what)
		}
	}
	t.writeMatrices(&to, shown)
	fmt.Fprintf(&to, "\n**The faults**\n\n| fault | what happens |\n|---|---|\n%s", of.String())
	to.WriteString("\n**The libraries**\n\n| library | on | lease | how it is used |\n|---|---|---|---|\n")
	for _, e := range entries {
		if slices.ContainsFunc(t.rows, func(r row) bool { return r.of("library") == e.name }) {
			fmt.Fprintf(&to, "| %s | %s | %v | %s |\n", e.name, e.store, e.lease, e.why)
		}
	}
	return to.String()
}

func (t table) writeMatrices(to *strings.Builder, shown []fault) {
	for _, m := range matrices {
		fmt.Fprintf(to, "\n**%s**\n\n| library (lease) |", m.title)
		for _, f := range shown {
			fmt.Fprintf(to, " %s |", f.name)
		}
		fmt.Fprintf(to, "\n|%s\n", strings.Repeat("---|", len(shown)+1))
		for _, e := range entries {
			of := make([]string, len(shown))
			for i, f := range shown {
				at := slices.IndexFunc(t.rows, func(r row) bool { return r.is(e, f) })
				switch {
				case at < 0:
				case t.rows[at].of("acquired") == notRun:
					of[i] = notRun
				default:
					of[i] = m.cell(t.rows[at])
				}
			}
			if strings.Join(of, "") != "" {
				fmt.Fprintf(to, "| %s (%v) | %s |\n", e.name, e.lease, strings.Join(of, " | "))
			}
		}
	}
}

// overlapCell marks what the documentation of the library does not claim.
func overlapCell(r row) string {
	text := r.of("overlaps")
	if text != "0" {
		text = fmt.Sprintf("**%s**, %s", text, r.of("longest"))
	}
	if stuck := r.of("stuck"); stuck != "0" {
		text += fmt.Sprintf(", %s stuck", stuck)
	}
	return text + map[string]string{silent.mark(): " °", denied.mark(): " *"}[r.of("claimed")]
}

func toldCell(r row) string {
	missed := r.of("not told")
	switch {
	case r.of("hit") == "0" || slices.ContainsFunc(faults, func(f fault) bool {
		return f.name == r.of("fault") && f.victim == killed
	}):
		return "–"
	case r.of("told") == "0" && missed == "0":
		return "kept it"
	case missed == "0":
		return r.of("told after")
	}
	text := fmt.Sprintf("%s; **%s not told**", r.of("told after"), missed)
	if by := r.of("by release"); by != "0" && by != "–" {
		text += fmt.Sprintf(", %s by the release", by)
	}
	return text
}

func unheldCell(r row) string {
	text := r.of("nobody inside")
	if above := r.of("orphans"); above != "0" {
		text += fmt.Sprintf(" (%s above the lease)", above)
	}
	if r.of("free after") == "never" {
		text += ", never free"
	}
	return text
}
