package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

const (
	mixedFor   = 3 * time.Second // at least
	mixedJavas = 4               // threads of one client
	mixedLeast = 5               // times that each of them must get the lock while our side goes on
	mixedLimit = 2 * limit       // for that
)

// tally is what a contender did.
type tally struct {
	who               string
	entries, overlaps int
	err               error
}

// place is what the lock protects: a key that must keep the name that was stored there, and a counter that is
// read and written in two steps, which loses counts when two are inside.
type place struct {
	rdb  redis.UniversalClient
	name string
}

// visit reports whether nobody else was seen.
func (p place) visit(ctx context.Context, me string) (alone bool, err error) {
	if err := p.rdb.Set(ctx, p.name+":inside", me, 0).Err(); err != nil {
		return false, err
	}
	count, err := p.rdb.Get(ctx, p.name+":counter").Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	time.Sleep(time.Millisecond) // time for another to get in
	if err := p.rdb.Set(ctx, p.name+":counter", count+1, 0).Err(); err != nil {
		return false, err
	}
	who, err := p.rdb.Get(ctx, p.name+":inside").Result()
	return who == me, err
}

// hammer does for this side what the Java program's operation of that name does, until it is stopped.
func hammer(g *goSide, p place, name, me string, stop <-chan struct{}) tally {
	got := tally{who: me}
	// Each wait is bounded, so that a lost message is a failure and not a hang.
	lock := rlock.New(g.client, name, rlock.MaxWait(limit))
	for got.err == nil {
		select {
		case <-stop:
			return got
		default:
		}
		got.err = lock.Do(context.Background(), func(ctx context.Context) error {
			alone, err := p.visit(ctx, me)
			if err == nil && !alone {
				got.overlaps++
			}
			got.entries++
			return err
		})
	}
	return got
}

// contend lets four Java threads and two goroutines of each client into a place, each side with the lock that
// it is given, until every Java thread has had enough turns. Nobody polls, and no lease ends: a lost message
// is a failure.
func contend(t *testing.T, j *java, gs []*goSide, p place, javaLock, goLock string) (javas, ours []tally) {
	t.Helper()
	var calls [mixedJavas]<-chan answer
	javas, ours = make([]tally, mixedJavas), make([]tally, 2*len(gs))
	for i := range calls {
		javas[i].who = fmt.Sprint("java", i)
		calls[i] = j.thread(javas[i].who).start("hammer", javaLock, p.name, javas[i].who,
			strconv.FormatInt(mixedFor.Milliseconds(), 10), strconv.Itoa(mixedLeast))
	}
	var done sync.WaitGroup
	stop := make(chan struct{})
	for i := range ours {
		done.Go(func() { ours[i] = hammer(gs[i%len(gs)], p, goLock, fmt.Sprint("go", i), stop) })
	}
	end := time.NewTimer(mixedLimit)
	defer end.Stop()
	for i, call := range calls {
		select {
		case a := <-call:
			require.Empty(t, a.err)
			_, err := fmt.Sscan(a.value, &javas[i].entries, &javas[i].overlaps)
			require.NoError(t, err)
		case <-end.C:
			t.Errorf("%s and those after it starve: in %v they were not in %d times", javas[i].who, mixedLimit, mixedLeast)
		}
		if t.Failed() {
			break
		}
	}
	close(stop)
	done.Wait()
	require.False(t, t.Failed())
	return javas, ours
}

// sum adds up what a side did.
func sum(t *testing.T, side []tally) (entries, overlaps int) {
	t.Helper()
	for _, got := range side {
		require.NoError(t, got.err, got.who)
		entries += got.entries
		overlaps += got.overlaps
		t.Logf("%s: %d", got.who, got.entries)
	}
	return entries, overlaps
}

// mix makes both sides hammer one name: never are two inside, and both sides make progress.
func mix(t *testing.T, j *java, gs []*goSide, rdb redis.UniversalClient, name string) {
	t.Helper()
	p := place{rdb: rdb, name: "{" + name + "}:place"}
	javas, ours := contend(t, j, gs, p, name, name)
	inJava, javaOverlaps := sum(t, javas)
	inGo, goOverlaps := sum(t, ours)
	require.Zero(t, javaOverlaps+goOverlaps, "two were inside")
	counted, err := rdb.Get(t.Context(), p.name+":counter").Int()
	require.NoError(t, err)
	require.Equal(t, inJava+inGo, counted, "counts were lost: two were inside")
	require.GreaterOrEqual(t, inGo, mixedLeast*len(ours), "Go starves")
}

// Java threads and the goroutines of our clients contend for one lock. A Java thread takes longer than a
// goroutine to hear of a release and to ask, so it gets only what the clients leave to it.
func TestMixedContenders(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(clients), func(t *testing.T) {
			t.Parallel()
			server, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
			gs := []*goSide{g}
			for len(gs) < clients {
				gs = append(gs, newGo(t, server.Client(t), rlock.ClientOptions{}, server))
			}
			mix(t, j, gs, server.Client(t), "mixed")
		})
	}
}

// The check of the test above detects two inside when the sides do not lock the same name.
func TestOverlapsAreSeen(t *testing.T) {
	t.Parallel()
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	p := place{rdb: server.Client(t), name: "{unguarded}:place"}
	javas, ours := contend(t, j, []*goSide{g}, p, "one", "another")
	inJava, javaOverlaps := sum(t, javas)
	inGo, goOverlaps := sum(t, ours)
	require.Positive(t, javaOverlaps, "Java sees nobody")
	require.Positive(t, goOverlaps, "Go sees nobody")
	counted, err := p.rdb.Get(t.Context(), p.name+":counter").Int()
	require.NoError(t, err)
	require.Less(t, counted, inJava+inGo, "no count was lost")
}
