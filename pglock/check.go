package pglock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock/internal/pgstore"
)

const (
	leastVersion = 14_00_00
	trialName    = "holdfast:check"
	oldSnapshot  = 10 * time.Minute

	// oldTransaction is from when on a transaction counts that has locked rows of the table.
	oldTransaction = 10 * time.Second

	// manyDead is from how many dead row versions on there are too many, if they outnumber the rows: autovacuum, which
	// begins at 2,000, and each look at a page do not get rid of them.
	manyDead = 10_000

	// fullQueue is from when on a queue of notifications is going to be full: usually it is empty.
	fullQueue  = 0.25
	whoListens = "a session listens in a transaction that it does not end; SELECT pid, query FROM pg_stat_activity " +
		"WHERE xact_start IS NOT NULL ORDER BY xact_start shows the oldest first; pg_terminate_backend(pid) ends one"

	// agedIDs is half of the ids that there are. By default autovacuum freezes old ones from 200 million on.
	agedIDs = 1_000_000_000
)

// Check finds out whether a server suits locks, and the Client the server. It looks at the version, the round trip and
// the lease, the table and the rights on it, notifications, durability, standbys, transactions that keep rows locked,
// what keeps old row versions, and the age of transaction ids, and tries a lock of the name "holdfast:check". It
// changes nothing else. A finding says so if this user cannot see what it is about.
func Check(ctx context.Context, c *Client) []lock.Finding {
	if err := c.opened(); err != nil {
		return []lock.Finding{{Name: "client", Level: lock.LevelFailure, Text: err.Error()}}
	}
	if ctx == nil {
		return []lock.Finding{{Name: "client", Level: lock.LevelFailure, Text: "the context must not be nil"}}
	}
	began := time.Now()
	site, err := c.store.Site(c.store.Within(ctx, c.limit()))
	if err != nil {
		return []lock.Finding{{Name: "connection", Level: lock.LevelFailure, Text: c.unanswered(ctx, err).Error()}}
	}
	all := []lock.Finding{c.roundTrip(time.Since(began)), c.tableFinding(&site)}
	server, err := c.store.Server(c.store.Within(ctx, c.limit()))
	if err != nil {
		text := "the server did not say how it is set up: " + c.unanswered(ctx, err).Error()
		all = append(all, lock.Finding{Name: "server", Level: lock.LevelWarning, Text: text})
		server.QueueUsage = -1 // not known
	} else {
		all = append(all, version(&server), durability(&server), standbys(&server), bloat(&server), ids(&server))
	}
	if all[1].Level == lock.LevelFailure {
		return all
	}
	return append(all, c.transactions(ctx), c.notifications(ctx, server.QueueUsage, &site), c.trial(ctx))
}

func (c *Client) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return engine.ContextError(ctx)
	}
	kind, cause := words.Unanswered(err)
	return fmt.Errorf("%w: %w", kind, cause)
}

func ok(name, format string, args ...any) lock.Finding {
	return lock.Finding{Name: name, Text: fmt.Sprintf(format, args...)}
}

func warning(name, format string, args ...any) lock.Finding {
	return lock.Finding{Name: name, Level: lock.LevelWarning, Text: fmt.Sprintf(format, args...)}
}

func failure(name, format string, args ...any) lock.Finding {
	return lock.Finding{Name: name, Level: lock.LevelFailure, Text: fmt.Sprintf(format, args...)}
}

// roundTrip compares how long a first answer took, with the connection that was made for it, with the time that a
// request has.
func (c *Client) roundTrip(took time.Duration) lock.Finding {
	if took > c.limit()/2 {
		return warning("connection", "the first answer took %v, and a request has %v: use a longer Lease",
			took.Round(time.Millisecond), c.limit())
	}
	return ok("connection", "the first answer took %v, the connection included", took.Round(time.Millisecond))
}

func (c *Client) tableFinding(site *pgstore.Site) lock.Finding {
	if site.Standby {
		return failure("table", pgstore.StandbyProblem)
	}
	if problem, _ := site.Problem(); problem != "" {
		return failure("table", "table %s %s", c.table, problem)
	}
	return ok("table", "table %s is there, and this user may use it", site.Name())
}

func version(s *pgstore.Server) lock.Finding {
	text := fmt.Sprintf("PostgreSQL %d.%d", s.Version/10000, s.Version%10000)
	if s.Version < leastVersion {
		return warning("version", "%s is older than 14, the oldest that is known to work", text)
	}
	return ok("version", "%s", text)
}

// durability says what a crash costs. That commits do not wait for the disk by default (synchronous_commit) does not
// matter: those of acquisitions and renewals do, whatever the default.
func durability(s *pgstore.Server) lock.Finding {
	switch {
	case !s.Fsync:
		return failure("durability", "fsync is off: a crash of the machine may lose held locks, or the database")
	case !s.FullPages:
		return warning("durability", "full_page_writes is off: a crash of the machine may damage the table of locks")
	}
	return ok("durability", "what was granted is on the disk of the server before anybody holds it")
}

func standbys(s *pgstore.Server) lock.Finding {
	switch {
	case s.StandbyNames == "" && s.Standbys > 0:
		return warning("standbys", "%d standbys follow, and none is synchronous: if one is promoted, held locks that "+
			"it has not received are free there; set synchronous_standby_names", s.Standbys)
	case s.StandbyNames != "" && s.Standbys == 0:
		return failure("standbys", "synchronous_standby_names is %q, and no standby follows: nothing can be committed",
			s.StandbyNames)
	case s.StandbyNames != "" && s.Synchronous == 0:
		return warning("standbys", "synchronous_standby_names is %q, and this user cannot see that any of %d standbys "+
			"is waited for: if none is, nothing can be committed; members of pg_monitor see it",
			s.StandbyNames, s.Standbys)
	case s.StandbyNames != "":
		return ok("standbys", "synchronous_standby_names is %q, and %d of %d standbys are waited for", s.StandbyNames,
			s.Synchronous, s.Standbys)
	}
	return ok("standbys", "no standby follows, as far as this user may see")
}

// bloat says whether old versions of rows pile up, which makes each request read them all.
func bloat(s *pgstore.Server) lock.Finding {
	switch {
	case s.OldestSnapshot > oldSnapshot:
		return warning("bloat", "a transaction has been open for %v, and keeps old versions of rows from being "+
			"removed: every request reads those of its lock; end it", s.OldestSnapshot.Round(time.Second))
	case s.DeadVersions > manyDead && s.DeadVersions > s.Rows:
		return warning("bloat", "the table has %d dead row versions beside %d rows, and %d kB: every request reads "+
			"those of its lock; look for transactions, replication slots or prepared transactions that keep them",
			s.DeadVersions, s.Rows, s.SizeByte>>10)
	}
	return ok("bloat", "the table has %d dead row versions and %d kB, and no transaction that this user may see is old",
		s.DeadVersions, s.SizeByte>>10)
}

// ids says whether transaction ids run low: the server then warns with every write, and refuses to write in the end.
func ids(s *pgstore.Server) lock.Finding {
	age, what := s.OldestID, "transaction id"
	if s.OldestMulti > age {
		age, what = s.OldestMulti, "multixact id"
	}
	if age > agedIDs {
		return warning("ids", "the oldest %s of a database is %d old: at 2,100,000,000 the server refuses all writes, "+
			"those of locks too; end old transactions, drop prepared ones and replication slots that nobody uses, "+
			"then VACUUM the databases with the highest age(datfrozenxid)", what, age)
	}
	return ok("ids", "the oldest %s of a database is %d old", what, age)
}

// transactions says which transactions keep locks from others, as Tx has them do until they end.
func (c *Client) transactions(ctx context.Context) lock.Finding {
	found, err := c.store.Transactions(c.store.Within(ctx, c.limit()), oldTransaction)
	if err != nil {
		return warning("transactions", "it is not known who has locked rows: %v", c.unanswered(ctx, err))
	}
	var said []string
	for _, t := range found {
		said = append(said, lock.Transaction(t).String())
	}
	if len(said) > 0 {
		return warning("transactions", "rows of the table are locked, by Tx or by hand, and whatever the leases are, "+
			"nobody else gets those locks until then: by %s", strings.Join(said, "; by "))
	}
	return ok("transactions", "no transaction that this user may see keeps rows of the table locked")
}

func (c *Client) notifications(ctx context.Context, usage float64, site *pgstore.Site) lock.Finding {
	err := c.store.Hears(ctx)
	var refused *pgconn.PgError
	errors.As(err, &refused)
	switch {
	case err == nil && usage > fullQueue:
		return warning("notifications", "the queue of notifications is %.0f %% full: %s", 100*usage, whoListens)
	case err == nil && usage < 0:
		return ok("notifications", "waiters hear of the releases of other processes at once")
	case err == nil:
		return ok("notifications", "waiters hear of the releases of other processes at once, and the queue of "+
			"notifications is %.0f %% full", 100*usage)
	case errors.Is(err, pgstore.ErrDeaf) && !site.Reserves():
		return warning("notifications", "%v, as behind a pooler in transaction mode: waiters notice "+
			"the releases of other processes when they poll, at least every %v (MaxPoll), and the table lacks the "+
			"column by which others leave them turns: call pglock.Migrate, or execute what pglock.Migrations returns",
			err, c.core.MaxPoll)
	case errors.Is(err, pgstore.ErrDeaf):
		return warning("notifications", "%v, as behind a pooler in transaction mode: waiters notice "+
			"the releases of other processes when they poll, at least every %v (MaxPoll)", err, c.core.MaxPoll)
	}
	if refused != nil {
		switch refused.Code {
		case "42501":
			return warning("notifications", "this user may send none (%v), so waiters poll, every %v (MaxPoll): GRANT "+
				"EXECUTE ON FUNCTION pg_catalog.pg_notify(text, text) to it", refused, c.core.MaxPoll)
		case "54000":
			return warning("notifications", "the queue of notifications is full (%v), so waiters poll, every %v "+
				"(MaxPoll): %s", refused, c.core.MaxPoll, whoListens)
		case "55P03":
			return warning("notifications", "none can be committed (%v), so waiters poll, every %v (MaxPoll): the "+
				"notification of another program has its turn, and its commit takes long", refused, c.core.MaxPoll)
		}
	}
	return warning("notifications", "it is not known whether releases are heard: %v", c.unanswered(ctx, err))
}

// trial takes a lock, looks at it, and releases it. It waits for another Check that has the lock.
func (c *Client) trial(ctx context.Context) lock.Finding {
	began := time.Now()
	l := c.Lock(trialName, lock.MaxWait(time.Minute))
	err := l.Do(ctx, func(ctx context.Context) error {
		info, err := l.Inspect(ctx)
		if err == nil && info.Held != 1 {
			err = errors.New("the lock was taken, and the table shows no holder")
		}
		return err
	})
	if err != nil {
		return failure("trial", "a trial lock failed: %v", err)
	}
	return ok("trial", "a trial lock was taken, looked at and released in %v",
		time.Since(began).Round(time.Millisecond))
}
