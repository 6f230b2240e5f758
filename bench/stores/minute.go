package main

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

const (
	tableBytes = "table_bytes" // with its indexes and maps
	deadRows   = "dead_rows"
)

// minute is what is left in the table by a name for which 64 goroutines of 8 clients contend for a minute.
func minute() []situation {
	return []situation{{
		id: "minute8x8", title: "A table after a minute of 64 goroutines of 8 clients, one name",
		columns: []scenario.Column{
			{Figure: tableBytes, Head: "table bytes"}, {Figure: deadRows, Head: "dead row versions"},
			{Figure: measure.Rate, Head: "turns/s"}, {Figure: calls, Head: "statements/turn"},
		},
		rounds: 1, at: &nowhere, special: true,
		open: func(ctx context.Context, lab *lab) (scenario.Subject, error) {
			if !lab.Quick {
				lab.Slice = time.Minute
			}
			subject, err := openLoad(ctx, lab, load{clients: 8, goroutines: 64, name: "hot"})
			return &bloated{subject, lab}, err
		},
	}}
}

// bloated is a load that looks at the table afterwards.
type bloated struct {
	scenario.Subject
	lab *lab
}

func (b *bloated) Measure(ctx context.Context) (measure.Figures, error) {
	figures, err := b.Subject.Measure(ctx)
	if err != nil {
		return nil, err
	}
	table := "holdfast_lock"
	if b.lab.contender == peer {
		table = "locks"
	}
	var size, dead int64
	const ask = "SELECT pg_total_relation_size($1::regclass), dead_tuple_count FROM pgstattuple($1::regclass)"
	err = b.lab.place.(*pgPlace).conn.QueryRow(ctx, ask, table).Scan(&size, &dead)
	figures[tableBytes], figures[deadRows] = float64(size), float64(dead)
	return figures, err
}
