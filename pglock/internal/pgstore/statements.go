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
	begin, limits, laxLimits, ready, insert, acquire, acquireWary, adopt, acquireAll string
	want, reserve, look, confirm, renew, inspect, note, noted, list, tx, server      string
	announce, replicated, system, glance, transactions                               string

	telling, mute releases

	reserves bool // the table has the column for that
}

// releases are the statements that release one lock, which is not retained, or several, which may be: with the messages
// to those who wait, or without.
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

// waiting has a commit wait for the disk, and for the synchronous standbys. If the server waits for more by default
// (remote_apply), that stays. The warning that such a wait was ended must not be suppressed.
const waiting = "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply' " +
	"THEN 'remote_apply' ELSE 'on' END, true), set_config('client_min_messages', 'warning', true)"

// plainly and warily are what a lock is asked for under (acquire.sql).
var (
	plainly = strings.NewReplacer("{{is free}}", "l.until <= clock_timestamp()", "{{has ended}}", "")
	warily  = strings.NewReplacer(
		"{{is free}}", "(l.until <= clock_timestamp() OR l.id IS NULL AND $6::bool)",
		"{{has ended}}", " AND (l.id IS NULL OR $5::text IN ('', left(pg_walfile_name(pg_current_wal_lsn()), 8)))",
	)
)

// statementsOf are the statements for a table, which has the column for reservations, or not.
func statementsOf(table string, reserves bool) *statements {
	until := strings.NewReplacer("{{until}}", asFree, "{{reserved}}", "")
	if reserves {
		until = strings.NewReplacer("{{until}}", asReserved, "{{reserved}}", notAgain)
	}
	of := func(name string) string { return until.Replace(statement(name, table)) }
	return &statements{
		begin: of("begin"), limits: strings.Replace(of("limits"), "{{commit}}", waiting, 1),
		laxLimits: strings.Replace(of("limits"), "{{commit}}", "set_config('synchronous_commit', 'off', true)", 1),
		ready:     of("ready"), insert: of("insert"),
		acquire: plainly.Replace(of("acquire")), acquireWary: warily.Replace(of("acquire")), adopt: of("adopt"),
		acquireAll: of("acquire_all"), want: of("want"), reserve: of("reserve"), look: of("look"),
		confirm: of("confirm"), renew: of("renew"), inspect: of("inspect"), note: of("note"), noted: of("noted"),
		list: of("list"), tx: of("tx"), server: of("server"),
		replicated: of("replicated"), system: of("system"), glance: of("glance"), transactions: of("transactions"),
		announce: strings.ReplaceAll(of("announce"), "{{hurry}}", hurry),
		telling:  releasesOf(of, "pg_notify({{channel}}::text, '=' || {{id}} || ' ' || l.name)", hurry),
		mute:     releasesOf(of, "{{channel}}::text", "true"),
		reserves: reserves,
	}
}

// releasesOf are statements that release, of what they tell by and how they have the commit hurry then.
func releasesOf(of func(name string) string, tell, hurry string) releases {
	fill := func(name, channel, id, skip string) string {
		text := strings.ReplaceAll(of(name), "{{tell}}", tell)
		return strings.NewReplacer(
			"{{channel}}", channel, "{{id}}", id, "{{skip}}", skip, "{{hurry}}", hurry,
		).Replace(text)
	}
	return releases{
		one: fill("release", "$3", "$2::text", ""), all: fill("release_all", "$5", "p.id", ""),
		many: fill("release_all", "$5", "p.id", "SKIP LOCKED"),
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
