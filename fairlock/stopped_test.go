package fairlock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
)

// crowd is a child process with several callers of the lock. At each "lock" one more comes; each that gets in says
// "held" and the hold's id, and when it is told to unlocks and says "freed", or "lost".
var crowd = role.New("crowd", func(o orders) {
	lock := o.lock()
	told := make(chan struct{})
	for {
		if role.Told() != "lock" {
			told <- struct{}{}
			continue
		}
		go func() {
			held, unlock, err := lock.Lock(context.Background())
			role.Check(err)
			known, err := lock.Held(held)
			role.Check(err)
			fmt.Println("held", known.ID)
			<-told
			if unlock() != nil {
				fmt.Println("lost")
				return
			}
			fmt.Println("freed")
		}()
	}
})

// handsOver is what the child says when one of its callers unlocks and the next one gets in: both say it, in either
// order. It returns the id of the next one's hold.
func handsOver(t *testing.T, c *role.Process) string {
	t.Helper()
	lines := []string{c.Hear(), c.Hear()}
	slices.Sort(lines)
	require.Equal(t, "freed", lines[0])
	id, held := strings.CutPrefix(lines[1], "held ")
	require.True(t, held, lines)
	return id
}

// A process is stopped in the middle of a run, for longer than its lease: others go on without it, no matter who had
// the turn there is told when the process goes on and does not pass the lock on, and nothing is left of those who had
// theirs. Those who had none yet are in their places.
func TestAProcessIsStoppedInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	opts := rlock.ClientOptions{Lease: 3 * time.Second, MaxPoll: 500 * time.Millisecond}
	rival := l.peer(opts)
	c := crowd.Start(t, l.orders())
	for range 20 { // the machine may be so slow that nothing is passed
		first := rival.take()
		for range 3 {
			l.joins(c)
		}
		first.frees(t)
		granted := c.Hears("held")
		c.Say("unlock")
		passed := handsOver(t, c) == granted
		if !passed {
			c.Say("unlock")
			c.Hears("freed")
			c.Hears("held")
			c.Say("unlock")
			c.Hears("freed")
			l.clean()
			continue
		}
		next, later := rival.wait(), rival.wait()
		c.Freeze()
		h := l.arrives(next)
		l.queued(1) // the process is taken for dead
		c.Thaw()
		c.Say("unlock")
		c.Hears("lost")
		l.queued(2)
		c.Silent("the lock is another's")
		h.frees(t)
		c.Hears("held")
		require.Empty(t, later)
		c.Say("unlock")
		c.Hears("freed")
		l.arrives(later).frees(t)
		l.clean()
		return
	}
	t.Fatal("nothing was passed")
}
