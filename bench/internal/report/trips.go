package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/bench/internal/trips"
)

const tripsTitle = "Round trips that a caller waits for, counted"

// tripRows has a head, and a row for each operation.
func tripRows(counted []trips.Row) [][]string {
	columns := slices.DeleteFunc(slices.Clone(trips.Columns), func(name string) bool {
		return !slices.ContainsFunc(counted, func(r trips.Row) bool { return r.Counts[name] != nil })
	})
	rows := [][]string{append([]string{"", "least possible"}, columns...)}
	for _, r := range counted {
		row := []string{r.Operation, r.Least}
		for _, name := range columns {
			var counts []string
			for _, n := range r.Counts[name] {
				text := strconv.Itoa(n)
				if n == trips.Never {
					text = "never"
				}
				counts = append(counts, text)
			}
			if counts == nil {
				counts = []string{"–"}
			}
			row = append(row, strings.Join(counts, " + "))
		}
		rows = append(rows, row)
	}
	return rows
}

// Trips writes the table of round trips.
func Trips(w io.Writer, counted []trips.Row) error {
	fmt.Fprintf(w, "\n%s (trips)\n", tripsTitle)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range tripRows(counted) {
		fmt.Fprintf(t, "  %s\t\n", strings.Join(row, "\t"))
	}
	return t.Flush()
}

// TripsMarkdown is the same table for docs/evidence.md.
func TripsMarkdown(counted []trips.Row) string {
	var b strings.Builder
	for i, row := range tripRows(counted) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}
