package pgstore

import (
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
	case len(t) > maxChannel:
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

// channel is where releases of the table's locks are told. PostgreSQL allows as many bytes as a name has.
func (t Table) channel() string { return string(t) }

const maxChannel = 63

// columns are what the statements need; see schema.sql.
var columns = []string{
	"name", "id", "until", "fence", "wanted", "note", "note_id", "note_fence", "note_since",
}
