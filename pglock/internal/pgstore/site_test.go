package pgstore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

// A transaction that stands still is told, whether it has a snapshot or has written, and in whichever
// database (bug 58).
func TestWhatKeepsOldVersionsIsTold(t *testing.T) {
	t.Parallel()
	r := rows{url: pgtest.Start(t).URL(), sql: statementsOf(tableName.quoted(), true)}
	r.run(t, migrations(tableName)+"CREATE DATABASE other")
	other := rows{url: strings.Replace(r.url, "/postgres?", "/other?", 1), sql: r.sql}
	other.run(t, migrations(tableName))
	p := r.open(t, "c")
	for what, sql := range map[string]string{
		"a snapshot": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM holdfast_lock",
		"an insert":  "INSERT INTO holdfast_lock VALUES ('n')",
	} {
		for _, of := range []rows{r, other} {
			s := of.session(t)
			s.exec("BEGIN")
			for part := range strings.SplitSeq(sql, "; ") {
				s.exec(part)
			}
			pgtest.Eventually(t, func() bool {
				found, err := p.Server(within(t))
				require.NoError(t, err)
				return found.OldestSnapshot >= time.Second
			}, what)
			s.rollback()
		}
	}
}
