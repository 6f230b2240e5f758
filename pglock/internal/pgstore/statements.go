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
	begin, limits, ready, insert, acquire, adopt, acquireAll, want, reserve, look, confirm    string
	renew, inspect, note, noted, list, tx, server, announce, replicated, system, transactions string

	telling, mute releases

	reserves bool // the table has the column for that
}

// releases are the statements that release, with the messages to those who wait, or without.
type releases struct{ one, all, many string }

// hurry has the commit of a transaction with a message wait only a moment for its turn: the commit of another program's
// message may wait for a disk or a standby, and it keeps all others of the database waiting.
const hurry = "set_config('lock_timeout', '100', true)"

const commit = "COMMIT"

// asFree and asReserved are what a release sets the end of a lease to. A lock is reserved once for what a waiter noted,
// and for a second at most, also if the clock was set back since.
const (
	asFree     = "'epoch'"
	asReserved = "CASE WHEN l.polled > clock_timestamp() " +
		"THEN least(l.polled, clock_timestamp() + interval '1 second') ELSE 'epoch' END"
	notAgain = ", polled = 'epoch'"
)

// statementsOf are the statements for a table, which has the column for reservations, or not.
func statementsOf(table string, reserves bool) *statements {
	until := strings.NewReplacer("{{until}}", asFree, "{{reserved}}", "")
	if reserves {
		until = strings.NewReplacer("{{until}}", asReserved, "{{reserved}}", notAgain)
	}
	of := func(name string) string { return until.Replace(statement(name, table)) }
	return &statements{
		begin: of("begin"), limits: of("limits"), ready: of("ready"), insert: of("insert"), acquire: of("acquire"),
		adopt: of("adopt"), acquireAll: of("acquire_all"), want: of("want"), reserve: of("reserve"), look: of("look"),
		confirm: of("confirm"), renew: of("renew"), inspect: of("inspect"), note: of("note"), noted: of("noted"),
		list: of("list"), tx: of("tx"), server: of("server"),
		replicated: of("replicated"), system: of("system"), transactions: of("transactions"),
		announce: strings.ReplaceAll(of("announce"), "{{hurry}}", hurry),
		telling:  releasesOf(of, "pg_notify($5::text, '=' || {{id}} || ' ' || l.name)", hurry),
		mute:     releasesOf(of, "$5::text", "true"),
		reserves: reserves,
	}
}

// releasesOf are statements that release, of what they tell by and how they have the commit hurry then.
func releasesOf(of func(name string) string, tell, hurry string) releases {
	fill := func(name, id, skip string) string {
		text := strings.ReplaceAll(of(name), "{{tell}}", tell)
		return strings.NewReplacer("{{id}}", id, "{{skip}}", skip, "{{hurry}}", hurry).Replace(text)
	}
	return releases{
		one: fill("release", "$2::text", ""), all: fill("release_all", "p.id", ""),
		many: fill("release_all", "p.id", "SKIP LOCKED"),
	}
}

// statement is the text of a file without its comments, for a table.
func statement(name, table string) string {
	var lines []string
	for line := range strings.Lines(file(name)) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	text := strings.NewReplacer("{{table}}", table).Replace(strings.Join(lines, ""))
	for place, part := range map[string]string{"{{lockers}}": "lockers", "{{locked by}}": "locked_by"} {
		if strings.Contains(text, place) {
			text = strings.ReplaceAll(text, place, statement(part, table))
		}
	}
	return strings.TrimSpace(text)
}

func file(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
