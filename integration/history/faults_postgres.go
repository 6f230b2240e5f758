package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

// backendKinds are faults at the server, of its connections and of the table.
var backendKinds = []fault{
	{"connections killed", killBackends(ofClients)},
	{"row locked by a stranger", lockRow},
	{"table locked by a stranger", lockTable},
	{"free rows deleted", deleteFree},
}

// primaryKinds are faults of a server that is not replaced.
var primaryKinds = []fault{
	{"server stopped briefly", stopPrimary(3, 7)},
	{"server stopped for long", stopPrimary(11, 16)},
	{"server crashed", crashPrimary},
}

// standbyKinds are faults for which there is a standby that has everything.
var standbyKinds = []fault{
	{"listeners killed", killBackends(listening)},
	{"standby stopped", stopStandby},
	{"failover", takeOver},
	{"failover past killed commits", failOverPastCommits},
}

// deposedKinds are those after which two servers take writes for a while.
var deposedKinds = []fault{{"failover past a primary that lives on", failOverPastPrimary}}

// killBackends ends connections at the server, a few times.
func killBackends(which string) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		killed := 0
		for range 1 + random.IntN(4) {
			killed += r.postgres().kill(r, r.postgres().primary, which)
			time.Sleep(r.between(random, 0, 1))
		}
		return min(killed, 1)
	}
}

// kill ends connections at a server, and returns how many.
func (g *postgresGround) kill(r *run, host int, which string) int {
	list, err := g.ask(g.servers[host].URL(),
		"SELECT pid::text FROM pg_stat_activity WHERE "+which+" AND pg_terminate_backend(pid)")
	if err != nil {
		r.fail(fmt.Errorf("pg_terminate_backend: %w", err))
	}
	return len(list)
}

// lockRow locks the row of a name for a while, as a backup, an administrator or a transaction of pglock.Tx may do.
func lockRow(r *run, random *rand.Rand) int {
	strength := []string{"UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"}[random.IntN(4)]
	return stranger(3, 20, fmt.Sprintf("SELECT FROM holdfast_lock WHERE name = '%s' FOR %s",
		names[random.IntN(len(names))], strength))(r, random)
}

func lockTable(r *run, random *rand.Rand) int {
	return stranger(1, 8, "LOCK TABLE holdfast_lock IN ACCESS EXCLUSIVE MODE")(r, random)
}

// stranger executes a statement in a transaction, and leaves it open for a while.
func stranger(from, to int, sql string) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, r.postgres().servers[r.postgres().primary].URL())
		if err != nil {
			r.fail(err)
			return 0
		}
		_, err = conn.Exec(ctx, "BEGIN")
		if err == nil {
			_, err = conn.Exec(ctx, sql)
		}
		if err != nil {
			r.fail(errors.Join(err, conn.Close(ctx)))
			return 0
		}
		r.lasting(random, from, to, func() { _ = conn.Close(ctx) }) // the server may have ended it meanwhile
		return 1
	}
}

// deleteFree deletes rows that nobody needs any more, as the documentation of package pglock says, a few times. A lock
// that was released is one of them.
func deleteFree(r *run, random *rand.Rand) int {
	for range 1 + random.IntN(20) {
		if err := r.postgres().tell("DELETE FROM holdfast_lock WHERE until < now() - interval '1 day'"); err != nil {
			r.fail(err)
			return 0
		}
	}
	return 1
}

// stopPrimary stops the server for from to to tenths of a lease. It executes what it received meanwhile when it runs
// again.
func stopPrimary(from, to int) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		server := r.postgres().servers[r.postgres().primary]
		server.Freeze()
		time.Sleep(r.between(random, from, to)) // the fault itself
		server.Thaw()
		return 1
	}
}

// crashPrimary kills the server and starts it again. What it wrote is there: the machine goes on.
func crashPrimary(r *run, random *rand.Rand) int {
	server := r.postgres().servers[r.postgres().primary]
	server.Crash()
	time.Sleep(r.between(random, 0, 5)) // the fault itself
	server.Restart()
	return 1
}

// stopStandby stops the standby, so that commits wait for it.
func stopStandby(r *run, random *rand.Rand) int {
	standby := r.postgres().standby()
	standby.Freeze()
	time.Sleep(r.between(random, 3, 16)) // the fault itself
	standby.Thaw()
	return 1
}

// takeOver promotes the standby, which has every commit that anybody relies on. The old primary is stopped for good
// first, and the new one gets a standby.
func takeOver(r *run, random *rand.Rand) int {
	old := r.postgres().servers[r.postgres().primary]
	if random.IntN(2) == 0 {
		old.Crash()
	} else {
		old.Shutdown()
	}
	r.postgres().promote()
	r.postgres().attach(r, true)
	return 1
}

// failOverPastCommits is a failover before which connections end whose commits wait for the standby. Each of these is
// visible at the old primary from then on, and the new one lacks it.
func failOverPastCommits(r *run, random *rand.Rand) int {
	r.postgres().leaveBehind(r)
	killed := r.postgres().killCommits(r, r.postgres().primary, r.between(random, 5, 20))
	takeOver(r, random)
	return min(killed, 1)
}

// failOverPastPrimary is a failover after which the old primary lives on for a while, and clients stay with it. No
// commit that waits for the standby returns there any more, unless its connection ends.
func failOverPastPrimary(r *run, random *rand.Rand) int {
	old := r.postgres().primary
	r.postgres().promote()
	killed := r.postgres().killCommits(r, old, r.between(random, 5, 25))
	r.postgres().servers[old].Crash()
	r.postgres().attach(r, true)
	return min(killed, 1)
}

// killCommits ends, for a while, connections whose commits wait for the standby.
func (g *postgresGround) killCommits(r *run, host int, span time.Duration) (killed int) {
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(time.Millisecond) {
		killed += g.kill(r, host, ofClients+" AND wait_event = 'SyncRep'")
	}
	return killed
}

func (g *postgresGround) standby() *pgtest.Server { return g.servers[1-g.primary] }

// leaveBehind has the standby receive nothing more. To stop it would not be enough: when it goes on, it finds what was
// sent to it meanwhile.
func (g *postgresGround) leaveBehind(r *run) {
	standby := g.standby().URL()
	_, err := g.ask(standby, "ALTER SYSTEM SET primary_conninfo = ''")
	if err == nil {
		_, err = g.ask(standby, "SELECT pg_reload_conf()::text")
	}
	if err != nil {
		r.fail(err)
	}
	pgtest.Eventually(g.lab, func() bool {
		list, err := g.ask(standby, "SELECT pid::text FROM pg_stat_wal_receiver")
		return err == nil && len(list) == 0
	}, "the standby receives nothing more")
}

// promote has the standby take over.
func (g *postgresGround) promote() {
	g.standby().Promote(g.lab)
	g.primary = 1 - g.primary
}

// attach gives the primary a new standby, in the place of the server that was stopped for good.
func (g *postgresGround) attach(r *run, synchronous bool) {
	host := 1 - g.primary
	g.servers[host] = g.servers[g.primary].Standby(g.lab, synchronous)
	for _, s := range r.seats {
		s.paths[host].Target(g.servers[host].Addr())
	}
}
