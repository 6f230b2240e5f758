package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Migration is a numbered change of the table of locks.
type Migration struct {
	Number int    // from 1 on, without gaps
	SQL    string // one statement, with comments
}

// history is how the table came to be as this version needs it, one change after the other. A change adds at least one
// column and takes nothing away, so a table shows by its columns which changes it has had. Nothing else records that: a
// number in a comment or in a table of its own can be left out of a dump, or stay behind a column that was made by
// hand, and the columns are what the statements need. Clients that do not know of a change go on, since their
// statements name columns, and a new one can be NULL or has a default.
type history []change

// change is a change of the table.
type change struct {
	sql     string // of the table {{table}}; by {{lock}} of several at once the others wait for one
	columns []column

	optional bool // a client goes on without
}

// column is one that a change adds.
type column struct{ name, kind, rest string }

// changes are those of this version.
var changes = history{{sql: file("migration_1"), columns: []column{
	{"name", "text", ` COLLATE "C" PRIMARY KEY`}, {"id", "text", ` COLLATE "C"`},
	{"until", "timestamp with time zone", " NOT NULL DEFAULT 'epoch'"}, {"fence", "bigint", " NOT NULL DEFAULT 0"},
	{"wanted", "timestamp with time zone", " NOT NULL DEFAULT 'epoch'"}, {"note", "text", ""},
	{"note_id", "text", ` COLLATE "C"`}, {"note_fence", "bigint", " NOT NULL DEFAULT 0"},
	{"note_since", "timestamp with time zone", ""},
}}, {sql: file("migration_2"), optional: true, columns: []column{
	{"polled", "timestamp with time zone", " NOT NULL DEFAULT 'epoch'"},
}}}

// advisory is the key of the advisory lock under which the table is changed: "holdfast" in ASCII.
const advisory int64 = 0x686f6c6466617374

// Migrations are the changes for a table, in their order.
func Migrations(table Table) []Migration { return changes.migrations(table) }

func (h history) migrations(table Table) (all []Migration) {
	for i, c := range h {
		tag := "$holdfast$" // which must not be part of what it quotes
		for strings.Contains(string(table), tag) {
			tag = "$_" + tag[1:]
		}
		sql := strings.NewReplacer("$holdfast$", tag, "{{lock}}", strconv.FormatInt(advisory, 10),
			"{{table}}", table.quoted()).Replace(c.sql)
		all = append(all, Migration{Number: i + 1, SQL: strings.TrimSpace(sql) + "\n"})
	}
	return all
}

// lacks is the first change that a table with those columns has not had, by its index, and the columns that are not
// there; -1 if it has had all.
func (h history) lacks(columns []string) (first int, missing []column) {
	for i, c := range h {
		for _, want := range c.columns {
			if !slices.Contains(columns, want.name) {
				missing = append(missing, want)
			}
		}
		if len(missing) > 0 {
			return i, missing
		}
	}
	return -1, nil
}

// optional are the columns without which a client goes on.
func (h history) optional() (names []string) {
	for _, c := range h {
		for _, column := range c.columns {
			if c.optional {
				names = append(names, column.name)
			}
		}
	}
	return names
}

// behind is what is said of a table that lacks columns; "" if it has all. A column of the first change was taken away
// by hand, and to carry that change out again adds nothing to a table that is there.
func (h history) behind(table string, columns []string) string {
	first, missing := h.lacks(columns)
	var names, add []string
	for _, c := range missing {
		names = append(names, c.name)
		add = append(add, "ADD COLUMN "+c.name+" "+c.kind+c.rest)
	}
	switch {
	case first < 0:
		return ""
	case first == 0:
		return "is not the table of this version: it has no column " + strings.Join(names, ", ") + ": ALTER TABLE " +
			table + " " + strings.Join(add, ", ")
	}
	return fmt.Sprintf("is behind this version: it has no column %s: call pglock.Migrate, or execute number %d of "+
		"pglock.Migrations and those that follow", strings.Join(names, ", "), first+1)
}

// Beginner is a connection or a pool.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

const (
	// migrateWait is how long a change waits for other transactions that use the table. Whatever comes after it to the
	// table waits, too: requests for locks. So it does not insist, and tries again.
	migrateWait  = time.Second
	migratePause = 100 * time.Millisecond
)

// Migrate carries out what the table has not had yet.
func Migrate(ctx context.Context, db Beginner, table Table) error {
	return changes.migrate(ctx, db, table)
}

func (h history) migrate(ctx context.Context, db Beginner, table Table) error {
	for {
		err := h.migrateOnce(ctx, db, table)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != notInTime && refused.Code != "40P01" {
			return err
		}
		select { // what others do with the table takes time
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(migratePause):
		}
	}
}

// migrateOnce looks first without a lock: usually there is nothing to do, and a user who may not change the table may
// find that out, too. What is to be done is done in one transaction, by one instance at a time.
func (h history) migrateOnce(ctx context.Context, db Beginner, table Table) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		columns, err := columnsOf(ctx, tx, table)
		if first, _ := h.lacks(columns); err != nil || first < 0 {
			return err
		}
		if _, err = tx.Exec(ctx, "SELECT set_config('lock_timeout', $1::text, true), pg_advisory_xact_lock($2::bigint)",
			pgx.QueryExecModeExec, strconv.FormatInt(migrateWait.Milliseconds(), 10), advisory); err != nil {
			return err
		}
		if columns, err = columnsOf(ctx, tx, table); err != nil {
			return err
		}
		first, _ := h.lacks(columns)
		if first < 0 {
			return nil
		}
		for _, m := range h.migrations(table)[first:] {
			if _, err := tx.Exec(ctx, m.SQL); err != nil {
				return err
			}
		}
		if columns, err = columnsOf(ctx, tx, table); err != nil {
			return err
		}
		if problem := h.behind(table.quoted(), columns); problem != "" {
			return &SchemaError{Table: string(table), Problem: problem}
		}
		return nil
	})
}

func columnsOf(ctx context.Context, tx pgx.Tx, table Table) (columns []string, err error) {
	err = tx.QueryRow(ctx, statement("columns", ""), pgx.QueryExecModeExec, table.quoted()).Scan(&columns)
	return columns, err
}
