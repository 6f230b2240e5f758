package redisson_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/rlock"
)

const (
	shareWork = 24 * time.Millisecond
	shareFor  = 8 * time.Second
	// A Java thread waits for no more turns than that: at 25 ms a turn, for 1.5 s. Where it waited for 13 to 20 s it was
	// for 500 turns and more.
	shareTurns = 60
)

// Two Java processes of one thread and two clients of ours with one goroutine each want one lock all the time. A
// goroutine that unlocked and asked again at once left next to nothing to the threads (defect F3). What counts is
// Java's longest wait, in turns of the mean length.
func TestJavaSharesWithGoroutines(t *testing.T) {
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	other := startJava(t, []string{server.Addr()}, javaOptions{})
	second := newGo(t, server.Client(t), rlock.ClientOptions{}, server)
	const name = "shared"
	for _, j := range []*java{j, other} {
		j.thread("java").do("share", name, "1", "1") // its classes are loaded
	}
	var theirs []<-chan answer
	for _, j := range []*java{j, other} {
		theirs = append(theirs, j.thread("java").start("share", name,
			strconv.FormatInt(shareWork.Milliseconds(), 10), strconv.FormatInt(shareFor.Milliseconds(), 10)))
	}
	var ours errgroup.Group
	var turns [2]int
	end := time.Now().Add(shareFor)
	for i, side := range []*goSide{g, second} {
		ours.Go(func() error {
			for time.Now().Before(end) {
				err := side.lock(name).Do(context.Background(), func(context.Context) error {
					turns[i]++
					time.Sleep(shareWork)
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, ours.Wait())
	total := turns[0] + turns[1]
	var waits []time.Duration
	for _, call := range theirs {
		var had int
		var waited int64
		_, err := fmt.Sscan(javaArrives(t, call), &had, &waited)
		require.NoError(t, err)
		waits = append(waits, time.Duration(waited)*time.Millisecond)
		t.Logf("Java: %d turns, longest wait %d ms", had, waited)
		total += had
	}
	mean := shareFor / time.Duration(total)
	t.Logf("Go: %v turns; a turn takes %v", turns, mean)
	for _, waited := range waits {
		require.LessOrEqual(t, waited, shareTurns*mean, "a Java thread starves")
	}
}

// A Java thread cannot say that it wants a lock which a process of ours keeps and uses all the time: it finds it free
// when the process lets it go after a second, and hears of that.
func TestJavaSharesWithAKeptLock(t *testing.T) {
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	const name = "kept"
	j.thread("java").do("share", name, "1", "1") // its classes are loaded
	kept := rlock.New(g.client, name, rlock.Keep(time.Second))
	theirs := j.thread("java").start("share", name, "1", strconv.FormatInt(shareFor.Milliseconds(), 10))
	ours := 0
	for end := time.Now().Add(shareFor); time.Now().Before(end); ours++ {
		require.NoError(t, kept.Do(context.Background(), func(context.Context) error { return nil }))
		time.Sleep(time.Millisecond)
	}
	var had int
	var waited int64
	_, err := fmt.Sscan(javaArrives(t, theirs), &had, &waited)
	require.NoError(t, err)
	t.Logf("Java: %d turns, longest wait %d ms; Go: %d turns", had, waited, ours)
	require.Less(t, time.Duration(waited)*time.Millisecond, shareFor/2, "a Java thread starves")
}
