package ensemble

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

type orders struct {
	Address, Name string
	Lease         time.Duration
}

// stopped holds a lock, and tells when it was renewed, and when it is lost.
var stopped = role.New("stopped", func(o orders) {
	tell := func(what string) { fmt.Println(what, time.Now().UnixNano()) }
	c, err := zklock.NewClient([]string{o.Address}, &zklock.Options{
		Lease: o.Lease, Observer: &lock.Observer{Renewed: func(r lock.Renewal) {
			if r.Err == nil {
				tell("renewed")
			}
		}},
	})
	role.Check(err)
	held, _, err := c.Lock(o.Name).Lock(context.Background())
	role.Check(err)
	tell("held")
	<-held.Done()
	tell("lost")
	role.Told()
})

// toldAt is the instant in a line.
func toldAt(t *testing.T, line string) time.Time {
	t.Helper()
	at, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
	require.NoError(t, err)
	return time.Unix(0, at)
}

// A holder is stopped for most of its session's time, is renewed by a follower when it goes on, and that follower dies
// at once. The leader has to have heard of it: else the session ends there by what it knew before. (That is so where a
// change which a follower passes on counts as a renewal: it was two holders in 8 of 8 runs.)
func TestARenewalByAFollowerThatDies(t *testing.T) {
	t.Parallel()
	l := open(t, zktest.Options{Tick: 2 * time.Second}) // a follower reports its clients each half tick
	l.lease = 8 * time.Second
	const tries = 4
	for n := 1; !l.renewsAndDies(t, fmt.Sprint("a", n)); n++ {
		require.Less(t, n, tries, "the machine is too busy: the holder goes on too late to be renewed")
	}
}

// renewsAndDies reports false if the holder is not renewed.
func (l *lab) renewsAndDies(t *testing.T, name string) bool {
	t.Helper()
	follower := l.Follower(t)
	child := stopped.Start(t, orders{l.Members[follower].Addr(), name, l.lease})
	child.Hears("held")
	var others []int
	for member := range l.Members {
		if member != follower {
			others = append(others, member)
		}
	}
	entered := enters(t, l.client(t, zklock.Options{}, others...).Lock(name))
	last := toldAt(t, child.Hears("renewed"))
	child.Freeze()
	time.Sleep(time.Until(last.Add(l.lease * 85 / 100)))
	child.Thaw()
	said := child.Hear()
	if strings.HasPrefix(said, "lost") {
		<-entered
		return false
	}
	renewed := toldAt(t, said)
	l.Members[follower].Kill()
	lost := toldAt(t, child.Hears("lost"))
	in := <-entered
	t.Logf("the other has the lock %v after the renewal, and the holder was told after %v",
		in.Sub(renewed).Round(time.Millisecond), lost.Sub(renewed).Round(time.Millisecond))
	require.False(t, in.Before(lost), "two holders")
	return true
}

// enters takes a lock and gives it back, and tells when it had it.
func enters(t *testing.T, l *lock.Lock) <-chan time.Time {
	entered := make(chan time.Time, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, unlock, err := l.Lock(ctx)
		entered <- time.Now()
		if err == nil {
			err = unlock()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	return entered
}
