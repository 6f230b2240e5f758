package pgstore

import (
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// warned is where a connection keeps that the last transaction was warned of by what unreplicated recognises.
const warned = "holdfast: warning"

// unreplicated reports that a notice is the warning about a commit whose wait for its synchronous standbys was ended by
// an operator: it stands on this server, and perhaps nowhere else.
//
// Its code is that of every warning without a code of its own, and its text depends on the language of the server's
// messages. But every message says where in the server's source it comes from. If something on the way takes that out,
// it is not known that the warning is another one.
func unreplicated(n *pgconn.Notice) bool {
	return n.Code == "01000" && (n.Routine == "SyncRepWaitForLSN" || n.Routine == "" && n.File == "")
}

// mostWarnings is of how many places in the server's source warnings are logged.
const mostWarnings = 20

// warnings are those of the server's that say nothing of a request. Each is logged once: the server repeats some with
// every statement, as that transaction ids run low.
type warnings struct {
	warn func(text string, args ...any) // logs, and does not wait; set before the first connection is made

	mu    sync.Mutex // guards heard
	heard map[origin]bool
}

// origin is where in the server's source a warning comes from. Its text may have a number in it that changes.
type origin struct{ code, file, routine string }

func (w *warnings) hear(n *pgconn.Notice) {
	if n.SeverityUnlocalized != "WARNING" {
		return
	}
	from := origin{n.Code, n.File, n.Routine}
	w.mu.Lock()
	is := !w.heard[from] && len(w.heard) < mostWarnings
	if is && w.heard == nil {
		w.heard = make(map[origin]bool)
	}
	if is {
		w.heard[from] = true
	}
	w.mu.Unlock()
	if is {
		w.warn("PostgreSQL warns, and does what it was asked for; the same warning is not logged again",
			"warning", n.Message, "detail", n.Detail, "hint", n.Hint, "code", n.Code)
	}
}
