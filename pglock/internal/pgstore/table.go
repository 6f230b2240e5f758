package pgstore

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// Table is the name of the table of locks, with or without its schema: "holdfast_lock", "locks.holdfast_lock".
type Table string

// Problem is what is wrong with the name; "" if nothing is.
func (t Table) Problem() string {
	parts := strings.Split(string(t), ".")
	switch {
	case len(parts) > 2:
		return "must be a table, or a schema and a table"
	case len(t) > longest:
		return "must be at most 63 bytes long"
	case strings.ContainsRune(string(t), 0), !utf8.ValidString(string(t)):
		return "must be UTF-8 without a zero byte"
	}
	for _, part := range parts {
		if part == "" {
			return "must have no empty part"
		}
	}
	return ""
}

func (t Table) quoted() string { return pgx.Identifier(strings.Split(string(t), ".")).Sanitize() }

// longest is how many bytes PostgreSQL allows a name to have.
const longest = 63

// place is the table, as every statement names it whatever the search_path of a session says, and what hangs on that.
// It is constant.
type place struct {
	name    string // with its schema, quoted
	channel string // where releases of the table's locks are told
	role    string // of the session in which it was found: "none" is that of the login
	sql     *statements
}

// with is the place after it was found to have the column for reservations, or not to have it.
func (p *place) with(reserves bool) *place {
	if p.sql.reserves == reserves {
		return p
	}
	other := *p
	other.sql = statementsOf(p.name, reserves)
	return &other
}

// placeOf is a place by the schema and the name of the table.
func placeOf(schema, table, role string) *place {
	name := pgx.Identifier{schema, table}.Sanitize()
	return &place{name: name, channel: channelOf(schema, table), role: role, sql: statementsOf(name, false)}
}

// unproved is a table as the application names it, of which nothing is known yet.
func (t Table) unproved() *place {
	return &place{name: t.quoted(), channel: string(t), role: "none", sql: statementsOf(t.quoted(), false)}
}

// channelOf is the same for all clients of a table, whether they name its schema or not. Earlier versions had the name
// that the application gives, which most often is that of a table in the schema public, without it.
func channelOf(schema, table string) string {
	channel := schema + "." + table
	switch {
	case schema == "public":
		return table
	case len(channel) <= longest:
		return channel
	}
	sum := fnv.New128a()
	_, _ = sum.Write([]byte(channel)) // returns no error
	return fmt.Sprintf("holdfast:%x", sum.Sum(nil))
}
