package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// rwReader takes the read side of a lock, and stays.
var rwReader = role.New("reader", func(o orders) {
	_, client := o.open()
	_, _, err := rwlock.New(client, o.Name).Read().Lock(context.Background())
	role.Check(err)
	fmt.Println("ready")
	role.Told()
})

// rwContender contends for both sides.
var rwContender = role.New("contender", func(o orders) {
	rdb, client := o.open()
	fmt.Println("ready")
	for i := range 3 {
		go rwHammer(client, place{rdb: rdb, name: o.Name + ":place"}, o.Name, fmt.Sprint("child", os.Getpid(), i), nil)
	}
	role.Told()
})

// rwTally is what a contender for both sides did.
type rwTally struct {
	who                     string
	writes, reads, overlaps int
	err                     error
}

// rwHammer does for this side what the Java program's operation of that name does, until it is stopped.
func rwHammer(client *rlock.Client, p place, name, me string, stop <-chan struct{}) rwTally {
	got := rwTally{who: me}
	lock := rwlock.New(client, name, rlock.MaxWait(limit))
	for round := 0; got.err == nil; round++ {
		select {
		case <-stop:
			return got
		default:
		}
		side, visit := lock.Read(), p.readIn
		if round%4 == 0 {
			side, visit = lock.Write(), func(ctx context.Context) (bool, error) {
				return p.writeIn(ctx, fmt.Sprint(me, ":", round))
			}
			got.writes++
		} else {
			got.reads++
		}
		got.err = side.Do(context.Background(), func(ctx context.Context) error {
			alone, err := visit(ctx)
			if err == nil && !alone {
				got.overlaps++
			}
			return err
		})
	}
	return got
}

// look returns who wrote last, and how many writes there were.
func (p place) look(ctx context.Context) (who, count string, err error) {
	values, err := p.rdb.MGet(ctx, p.name+":inside", p.name+":counter").Result()
	if err != nil {
		return "", "", err
	}
	return fmt.Sprint(values[0]), fmt.Sprint(values[1]), nil
}

// readIn reports whether nobody wrote meanwhile.
func (p place) readIn(ctx context.Context) (alone bool, err error) {
	who, count, err := p.look(ctx)
	if err != nil {
		return false, err
	}
	time.Sleep(time.Millisecond) // time for another to get in
	who2, count2, err := p.look(ctx)
	return who == who2 && count == count2, err
}

// writeIn writes, and reports whether nobody else did.
func (p place) writeIn(ctx context.Context, me string) (alone bool, err error) {
	if err := p.rdb.Set(ctx, p.name+":inside", me, 0).Err(); err != nil {
		return false, err
	}
	alone, err = p.readIn(ctx)
	if err != nil {
		return false, err
	}
	count, err := p.rdb.Get(ctx, p.name+":counter").Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	who, _, err := p.look(ctx)
	if err != nil {
		return false, err
	}
	return alone && who == me, p.rdb.Set(ctx, p.name+":counter", count+1, 0).Err()
}

// Readers and writers of both kinds contend, processes of both kinds are killed in the middle of it, and never is a
// writer inside with anybody else. The survivors make progress.
func TestRWMixedContendersUnderSIGKILL(t *testing.T) {
	t.Parallel()
	const rounds = 3
	opts := rlock.ClientOptions{Lease: short, MaxPoll: short / 8}
	_, j, g := rwOne(t, javaOptions{watchdog: short}, opts)
	addr, name := g.servers[0].Addr(), "mixed"
	p := place{rdb: g.servers[0].Client(t), name: name + ":place"}
	gs := []rwGo{g, g.another(opts)}

	var done sync.WaitGroup
	stop := make(chan struct{})
	ours := make([]rwTally, 4)
	for i := range ours {
		done.Go(func() { ours[i] = rwHammer(gs[i%2].client, p, name, fmt.Sprint("go", i), stop) })
	}
	finish := sync.OnceFunc(func() { close(stop); done.Wait() })
	defer finish()
	var javas []<-chan answer
	hammer := func(j *java, who string, millis time.Duration) <-chan answer {
		return j.thread(who).start("rw.hammer", name, p.name, who,
			strconv.FormatInt(millis.Milliseconds(), 10), strconv.Itoa(mixedLeast))
	}
	for i := range 2 {
		javas = append(javas, hammer(j, fmt.Sprint("java", i), rounds*2*short))
	}
	for range rounds {
		victim := startJava(t, []string{addr}, javaOptions{watchdog: short})
		for i := range 2 {
			hammer(victim, fmt.Sprint("victim", i), never)
		}
		child := rwContender.Start(t, orders{Addr: addr, Name: name, Lease: short, MaxPoll: short / 8})
		child.Hears("ready")
		count := func() int64 { n, _ := p.rdb.Get(t.Context(), p.name+":counter").Int64(); return n }
		before := count()
		redistest.Eventually(t, limit, func() bool { return count() > before+3 }, "nobody writes")
		victim.kill()
		child.Kill()
		before = count()
		redistest.Eventually(t, limit, func() bool { return count() > before+3 }, "nobody writes after the kill")
	}
	var overlaps, reads, writes int
	for i, call := range javas {
		select {
		case a := <-call:
			var w, r, o int
			require.Empty(t, a.err)
			_, err := fmt.Sscan(a.value, &w, &r, &o)
			require.NoError(t, err)
			t.Logf("java%d: %d writes, %d reads", i, w, r)
			overlaps, reads, writes = overlaps+o, reads+r, writes+w
		case <-time.After(mixedLimit):
			t.Fatalf("java%d starves", i)
		}
	}
	finish()
	for _, got := range ours {
		require.NoError(t, got.err)
		require.Positive(t, got.writes*got.reads, "%s was not in", got.who)
		t.Logf("%s: %d writes, %d reads", got.who, got.writes, got.reads)
		overlaps += got.overlaps
	}
	require.Zero(t, overlaps, "a writer was in beside somebody")
	require.Positive(t, reads*writes)
}

// The check of the test above detects a writer beside others when the sides do not lock the same name.
func TestRWOverlapsAreSeen(t *testing.T) {
	t.Parallel()
	_, j, g := rwOne(t, javaOptions{}, rlock.ClientOptions{})
	p := place{rdb: g.servers[0].Client(t), name: "rw-unguarded:place"}
	stop := make(chan struct{})
	ours := make(chan rwTally, 1)
	go func() { ours <- rwHammer(g.client, p, "one", "go", stop) }()
	a := javaArrives(t, j.thread("a").start("rw.hammer", "another", p.name, "java", "2000", "5"))
	close(stop)
	var w, r, o int
	_, err := fmt.Sscan(a, &w, &r, &o)
	require.NoError(t, err)
	require.Positive(t, o, "Java sees nobody")
	got := <-ours
	require.NoError(t, got.err)
	require.Positive(t, got.overlaps, "Go sees nobody")
}

// On a cluster both sides use sharded messages, and all keys of a name are in its slot.
func TestRWCluster(t *testing.T) {
	t.Parallel()
	classPath(t)
	lab := redistest.Cluster(t, 3)
	var nodes []*redistest.Server
	for i := range lab.Len() {
		nodes = append(nodes, lab.Node(i))
	}
	j := startJava(t, lab.Addrs(), javaOptions{cluster: true})
	g := rwGo{newGo(t, lab.Client(t), rlock.ClientOptions{}, nodes...)}
	other := rwGo{newGo(t, lab.Client(t), rlock.ClientOptions{}, nodes...)}
	a := j.thread("a")
	for _, name := range []string{"cluster:1", "cluster:2", "{tag}:x", "a{b}c"} {
		both := g.both(name)
		w := g.write(name)
		kept := g.take(both.Read(), context.WithoutCancel(w.ctx))
		java := a.waiting("rw.read.lock", name)
		w.frees(t)
		javaArrives(t, java)
		ours := other.waitFor(other.both(name).Write())
		kept.frees(t)
		a.do("rw.read.unlock", name)
		o := g.arrives(ours)
		java = a.waiting("rw.write.lock", name)
		o.frees(t)
		javaArrives(t, java)
		mine := g.waitFor(both.Read())
		a.do("rw.write.unlock", name)
		g.arrives(mine).frees(t)
	}
}
