package ensemble

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/internal/zkadmin"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/zklock"
)

// The wall clocks of servers are set ahead and back by much more than a lease, that of the leader and of the others.
// Sessions last by clocks that nobody sets, so that costs nothing: holds stay, turns go on, and no two are live together.
func TestClocksThatAreSet(t *testing.T) {
	t.Parallel()
	servers.NeedClock(t)
	l := open(t, zktest.Options{Clock: true})
	admin := zkadmin.Connect(t, l.Addrs()...)
	team, keeper := l.play(t), l.keep(t, "kept")
	keeper.Renewed(t, 1)
	leader := l.Leader(t)
	others := []int{(leader + 1) % len(l.Members), (leader + 2) % len(l.Members)}
	c := l.client(t, zklock.Options{})
	for _, step := range []struct {
		members []int
		ahead   time.Duration
	}{
		{[]int{leader}, time.Hour}, {others, time.Hour}, {[]int{leader}, -time.Hour}, {others, -2 * time.Hour},
		{[]int{leader, others[0], others[1]}, 0},
	} {
		for _, member := range step.members {
			l.Members[member].Ahead(step.ahead)
		}
		if step.members[0] == leader {
			require.InDelta(t, step.ahead.Minutes(), aheadBy(t, c, admin).Minutes(), 3, "the leader's clock does not obey")
		}
		team.GoesOn(t)
		keeper.Renewed(t, 2)
	}
	require.NoError(t, keeper.Unlock())
	team.Judge(t)
}

// aheadBy is how far the leader's clock is ahead of the machine's, as a node of a lock shows.
func aheadBy(t *testing.T, c *zklock.Client, admin *zkadmin.Admin) (ahead time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := c.Lock("clock").Do(ctx, func(context.Context) error {
		const below = "/holdfast/locks/clock"
		names, err := admin.Below(below)
		if err != nil {
			return err
		}
		made, err := admin.Made(below + "/" + names[0])
		ahead = time.Until(made)
		return err
	})
	require.NoError(t, err)
	return ahead
}
