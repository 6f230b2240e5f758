package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/scripts/internal/tally"
)

// A row is what is known of one subject.
type row struct {
	name, version, suites string
	tally                 tally.Tally
	date, commit          string
	reason                string // why it was not run; "": it was
}

// The columns of the table. Of a row that was not run, the second one says why, and the others are empty.
const header = "| what | version, as it says itself | what was run | passed | failed | skipped | on | commit |\n" +
	"|---|---|---|---|---|---|---|---|\n"

const notRun = "not run: "

func (r row) String() string {
	if r.reason != "" {
		return fmt.Sprintf("| %s | %s%s | %s | | | | | |", r.name, notRun, cell(r.reason), r.suites)
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %d | %d | %s | %s |", r.name, cell(r.version), r.suites,
		r.tally.Passed, r.tally.Failed, r.tally.Skipped, r.date, r.commit)
}

// cell returns a text that cannot end its cell.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
}

// parse returns the row that a line of the table has.
func parse(line string) (row, error) {
	cells := strings.Split(strings.TrimSpace(line), "|")
	if len(cells) != 10 {
		return row{}, fmt.Errorf("a row of %d cells instead of 8: %s", max(len(cells)-2, 0), line)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	r := row{name: cells[1], version: cells[2], suites: cells[3], date: cells[7], commit: cells[8]}
	if reason, found := strings.CutPrefix(r.version, notRun); found {
		r.version, r.reason = "", reason
		return r, nil
	}
	for at, number := range map[int]*int{4: &r.tally.Passed, 5: &r.tally.Failed, 6: &r.tally.Skipped} {
		n, err := strconv.Atoi(cells[at])
		if err != nil {
			return row{}, fmt.Errorf("a number is missing: %s", line)
		}
		*number = n
	}
	return r, nil
}

// A table is the rows by their names.
type table map[string]row

// put adds a row. What was measured before is not replaced by the word that it is not available here.
func (t table) put(r row) {
	if old, found := t[r.name]; found && old.reason == "" && r.reason != "" {
		return
	}
	t[r.name] = r
}

// inOrder returns the rows in the order of the subjects. A row of no subject is dropped; a subject without a row was
// never run.
func (t table) inOrder(of []subject) (rows []row) {
	for _, s := range of {
		r, found := t[s.name]
		if !found {
			r = row{name: s.name, reason: "not yet"}
		}
		if r.reason != "" {
			r.suites = s.suites
		}
		rows = append(rows, r)
	}
	return rows
}

// mark is that of the table in a page.
const mark = "servers"

// read returns the table of a page.
func read(path string) (table, error) {
	inside, err := pages.Shown(path, mark)
	if err != nil {
		return nil, err
	}
	t := table{}
	for line := range strings.Lines(strings.TrimPrefix(strings.TrimLeft(inside, "\n"), header)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		r, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		t[r.name] = r
	}
	return t, nil
}

// write puts the table into a page.
func write(path string, rows []row) error {
	text := "\n" + header
	for _, r := range rows {
		text += fmt.Sprintln(r)
	}
	return pages.Show(path, mark, text+"\n")
}
