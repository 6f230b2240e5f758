package fairlock_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

func init() { roles["crowd"] = crowd }

// crowd is a child process with several callers of the lock. At each "lock" one more comes; whoever gets in says
// "held" and the hold's id, and when it is told to unlocks and says "freed", or "lost".
func crowd() {
	lock := childLock()
	told := make(chan struct{})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if lines.Text() != "lock" {
			told <- struct{}{}
			continue
		}
		go func() {
			held, unlock, err := lock.Lock(context.Background())
			check(err)
			known, err := lock.Held(held)
			check(err)
			fmt.Println("held", known.ID)
			<-told
			if unlock() != nil {
				fmt.Println("lost")
				return
			}
			fmt.Println("freed")
		}()
	}
}

// next is what the child says next, which has to begin with a word.
func (c *child) next(word string) string {
	c.l.Helper()
	select {
	case line, ok := <-c.lines:
		require.True(c.l, ok, "the child has ended")
		require.True(c.l, strings.HasPrefix(line, word), "%q instead of %q", line, word)
		return line
	case <-time.After(patience):
		c.l.Fatalf("the child does not say %q", word)
		return ""
	}
}

// nextTwo is what the child says next that begins with the second of two words; it says both, in either order,
// and the words are in alphabetical order.
func (c *child) nextTwo(first, second string) string {
	c.l.Helper()
	lines := []string{c.next(""), c.next("")}
	slices.Sort(lines)
	require.True(c.l, strings.HasPrefix(lines[0], first) && strings.HasPrefix(lines[1], second), lines)
	return lines[1]
}

// joins has one more caller of the child come, which has its place when this returns.
func (c *child) joins() {
	c.l.Helper()
	before := c.l.waiters()
	c.say("lock")
	redistest.Eventually(c.l, patience, func() bool { return c.l.waiters() > before }, "the child gets no place")
}

// A process is stopped in the middle of a run, for longer than its lease: others go on without it, whoever had the
// turn there is told when the process goes on and does not pass the lock on, and nothing is left of those who had
// theirs. Those who had none yet are in their places.
func TestAProcessIsStoppedInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	opts := rlock.ClientOptions{Lease: 3 * time.Second, MaxPoll: 500 * time.Millisecond}
	rival := l.peer(opts)
	c := l.childIn("crowd")
	for range 20 { // the machine may be so slow that nothing is passed
		first := rival.take()
		for range 3 {
			c.joins()
		}
		first.frees(t)
		granted := c.next("held")
		c.say("unlock")
		passed := c.nextTwo("freed", "held") == granted // of two goroutines of the child, in either order
		if !passed {
			c.say("unlock")
			c.next("freed")
			c.next("held")
			c.say("unlock")
			c.next("freed")
			l.clean()
			continue
		}
		next, later := rival.wait(), rival.wait()
		c.freeze()
		h := l.arrives(next)
		l.queued(1) // the process is taken for dead
		c.thaw()
		c.say("unlock")
		c.next("lost")
		l.queued(2)
		require.Empty(t, c.lines)
		h.frees(t)
		c.next("held")
		require.Empty(t, later)
		c.say("unlock")
		c.next("freed")
		l.arrives(later).frees(t)
		l.clean()
		return
	}
	t.Fatal("nothing was passed")
}
