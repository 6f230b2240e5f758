package pgstore

import (
	"embed"
	"strings"
)

// The statements are in files of their own, each with a header that says what it is for, its arguments, and what it
// returns.
//
//go:embed sql/*.sql
var files embed.FS

// statements are those of one table.
type statements struct {
	begin, limits, ready, insert, acquire, adopt, acquireAll, want, look, confirm string
	release, releaseAll, releaseMany, renew, inspect, note, noted                 string
	list, tx, server, announce                                                    string
}

const commit = "COMMIT"

func statementsOf(table string) *statements {
	of := func(name string) string { return statement(name, table) }
	return &statements{
		begin: of("begin"), limits: of("limits"), ready: of("ready"), insert: of("insert"), acquire: of("acquire"),
		adopt: of("adopt"), acquireAll: of("acquire_all"), want: of("want"), look: of("look"), confirm: of("confirm"),
		release: of("release"), releaseAll: strings.ReplaceAll(of("release_all"), "{{skip}}", ""),
		releaseMany: strings.ReplaceAll(of("release_all"), "{{skip}}", "SKIP LOCKED"),
		renew:       of("renew"), inspect: of("inspect"), note: of("note"), noted: of("noted"),
		list: of("list"), tx: of("tx"), server: of("server"), announce: of("announce"),
	}
}

// statement is the text of a file without its comments, for a table.
func statement(name, table string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(lines, ""), "{{table}}", table))
}

// Schema is the statement that makes the table, if it does not exist yet, with comments.
func Schema(table Table) string {
	text, err := files.ReadFile("sql/schema.sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "{{table}}", table.quoted())) + ";\n"
}
