package history

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// postgresLosses make PostgreSQL forget: holds, tokens, or all that it committed lately.
var postgresLosses = []fault{
	{"row deleted", losing(edit(false, "DELETE FROM holdfast_lock WHERE name = $1"))},
	{"row set free", losing(edit(false, "UPDATE holdfast_lock SET id = NULL, until = 'epoch' WHERE name = $1"))},
	{"token set back", losing(edit(true, "UPDATE holdfast_lock SET fence = 0 WHERE name = $1"))},
	{"all rows deleted", losing(editAll("DELETE FROM holdfast_lock"))},
	{"table truncated", losing(editAll("TRUNCATE holdfast_lock"))},
	{"standby promoted that lacks the last commits", failOverBackwards},
}

// edit changes the row of one name, as an administrator may do. Holds that lost only their token are not lost.
func edit(harmless bool, sql string) func(*run, *rand.Rand) (string, bool, error) {
	return func(r *run, random *rand.Rand) (string, bool, error) {
		name := names[random.IntN(len(names))]
		return name, !harmless, r.postgres().tell(sql, name)
	}
}

func editAll(sql string) func(*run, *rand.Rand) (string, bool, error) {
	return func(r *run, _ *rand.Rand) (string, bool, error) { return "", true, r.postgres().tell(sql) }
}

// failOverBackwards promotes a standby that has received nothing for more than a lease. So it knows of no hold that was
// granted since. A hold that it knows may be renewed there.
func failOverBackwards(r *run, random *rand.Rand) int {
	r.postgres().leaveBehind(r)
	since := stamp.Now()
	time.Sleep(r.between(random, 12, 20)) // the fault itself
	from := stamp.Now()
	r.postgres().servers[r.postgres().primary].Crash()
	r.postgres().promote()
	r.record.lost(Loss{From: from, Until: stamp.Now(), Certain: true, Since: since})
	r.postgres().attach(r, false)
	return 1
}
