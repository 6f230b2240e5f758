package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/pages"
)

// head has the columns of safety.txt. The first one, of a cell's run, is not here.
var head = []string{
	"library", "fault", "claimed", "acquired", "hit", "overlaps", "longest", "refusable", "told", "told after",
	"kept", "not told", "by release", "nobody inside", "orphans", "wait after", "stuck", "free after", "tokens",
	"out of order",
}

// notRun is what a cell says of its acquisitions whose library is missing on this machine.
const notRun = "not run"

// row is the line of a cell.
func (r result) row() []string {
	if r.absent != "" {
		line := []string{r.entry.name, r.fault.name, claimOf(r.entry, r.fault).mark(), notRun}
		return append(line, slices.Repeat([]string{"–"}, len(head)-len(line))...)
	}
	return []string{
		r.entry.name, r.fault.name, claimOf(r.entry, r.fault).mark(), fmt.Sprint(r.acquisitions), fmt.Sprint(r.hits),
		fmt.Sprint(len(r.overlaps)), dash(len(r.overlaps) > 0, short(r.longest())),
		dash(len(r.overlaps) > 0 && r.tokens > 0, fmt.Sprint(r.refusable)),
		fmt.Sprint(len(r.told)), span(r.told), fmt.Sprint(r.kept), fmt.Sprint(r.untold),
		dash(r.untold > 0, fmt.Sprint(r.byRelease)),
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

// command is what repeats a run.
func (s settings) command() string {
	text := "go run ./safety"
	if s.only != "" {
		text += fmt.Sprintf(" -only %q", s.only)
	}
	if s.fault != "" {
		text += fmt.Sprintf(" -fault %q", s.fault)
	}
	if s.quick {
		text += " -quick"
	}
	if s.lanes != usualLanes {
		text += fmt.Sprint(" -lanes ", s.lanes)
	}
	return fmt.Sprintf("%s -seed %d", text, s.seed)
}

// report prints the cells of a run. Into a folder, it writes those of earlier runs with them that this run has not
// measured again.
func report(s settings, results []result, took time.Duration, out io.Writer) error {
	title := fmt.Sprintf("%s, %s, %v: %s", s.command(), time.Now().UTC().Format(time.DateOnly),
		took.Round(time.Second), strings.Join(versions(results), ", "))
	now := tableOf(title, results)
	if _, err := io.WriteString(out, now.text()); s.out == "" || err != nil {
		return err
	}
	file := filepath.Join(s.out, "safety.txt")
	earlier, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old, err := parseTable(string(earlier))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	all := now.over(old)
	err = errors.Join(
		os.WriteFile(file, []byte(all.text()), 0o644),
		os.WriteFile(filepath.Join(s.out, "safety.md"), []byte(all.markdown()), 0o644))
	if err != nil || s.page == "" {
		return err
	}
	return pages.Show(s.page, "safety", all.markdown())
}
