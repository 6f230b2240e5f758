package redisson_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

const hour = "3600000" // in ms: a lease that no test outlives

func take(s *semaphore.Semaphore, n int64) (o outcome) {
	o.ctx, o.unlock, o.err = s.TryAcquire(context.Background(), n)
	return o
}

// Both sides see the same permits, and neither gets what the other has.
func TestPermitsAreShared(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a := j.thread("a")
	s := semaphore.New(g.client, "shared")
	require.NoError(t, s.SetCapacity(t.Context(), 5))
	require.Equal(t, "5", a.do("permit.all", "shared"))
	ours := take(s, 2)
	require.NoError(t, ours.err)
	require.Equal(t, "2", a.do("permit.acquired", "shared"))
	require.Equal(t, "3", a.do("permit.available", "shared"))
	theirs := a.do("permit.try", "shared", "2", hour)
	require.Len(t, strings.Split(theirs, ","), 2)
	require.ErrorIs(t, take(s, 2).err, rlock.ErrBusy)
	require.Empty(t, a.do("permit.try", "shared", "2", hour))

	a.do("permit.set", "shared", "3")
	require.Equal(t, "-1", a.do("permit.available", "shared"))
	require.NoError(t, ours.ctx.Err(), "nobody loses any")
	require.ErrorIs(t, take(s, 1).err, rlock.ErrBusy)
	require.NoError(t, s.SetCapacity(t.Context(), 4))
	require.Equal(t, "0", a.do("permit.available", "shared"))
	require.Equal(t, "4", a.do("permit.all", "shared"))

	require.NoError(t, ours.unlock())
	a.do("permit.release", "shared", theirs)
	require.Equal(t, "4", a.do("permit.available", "shared"))
	a.refused("permit.release", "shared", theirs)
	require.Equal(t, "4", a.do("permit.available", "shared"))
}

// Each side is woken by the other, for as many as it waits for. Nobody polls.
func TestPermitsWakeTheOtherSide(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a, p := j.thread("a"), permitGo{g}
	s := semaphore.New(g.client, "woken")
	require.NoError(t, s.SetCapacity(t.Context(), 3))
	for range 10 {
		first := a.do("permit.acquire", "woken", "2", hour)
		second := a.do("permit.acquire", "woken", "1", hour)
		var held outcome
		entering := p.waitsFor(permitChannel("woken"), func(ctx context.Context) (err error) {
			held.ctx, held.unlock, err = s.Acquire(ctx, 3)
			return err
		})
		a.do("permit.release", "woken", first)
		require.Empty(t, entering, "three are not free")
		a.do("permit.release", "woken", second)
		p.comes(entering)

		waiting := a.waiting("permit.acquire", "woken", "3", hour)
		require.NoError(t, held.ctx.Err())
		require.NoError(t, held.unlock())
		a.do("permit.release", "woken", javaArrives(t, waiting))
	}
	// Adding permits without a release wakes the other side as well.
	waiting := a.waiting("permit.acquire", "woken", "5", hour)
	require.NoError(t, s.SetCapacity(t.Context(), 5))
	theirs := javaArrives(t, waiting)
	entering := p.waitsFor(permitChannel("woken"), func(ctx context.Context) error {
		return s.Do(ctx, 5, func(context.Context) error { return nil })
	})
	a.do("permit.set", "woken", "10")
	p.comes(entering)
	a.do("permit.release", "woken", theirs)
}

// A permit of Redisson's is shown with the id that Java knows, and an operator can break it.
func TestPermitsOfJavaInTheInspection(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a := j.thread("a")
	s := semaphore.New(g.client, "seen")
	require.NoError(t, s.SetCapacity(t.Context(), 3))
	id := a.do("permit.acquire", "seen", "1", hour)
	forever := a.do("permit.forever", "seen")
	info, err := s.Inspect(t.Context())
	require.NoError(t, err)
	require.Len(t, info.Holders, 2)
	require.Equal(t, []any{id, 1, false}, []any{info.Holders[0].ID, info.Holders[0].Count, info.Holders[0].Mine})
	require.InDelta(t, time.Hour, info.Holders[0].TTL, float64(10*time.Minute))
	require.Equal(t, forever, info.Holders[1].ID)
	require.Greater(t, info.Holders[1].TTL, 1000*time.Hour)

	require.Equal(t, "true", a.do("permit.extend", "seen", id, "60000"))
	waiting := a.waiting("permit.acquire", "seen", "2", hour)
	require.NoError(t, s.Break(t.Context(), forever))
	a.do("permit.release", "seen", javaArrives(t, waiting))
	a.refused("permit.release", "seen", forever)
	require.ErrorIs(t, s.Break(t.Context(), forever), rlock.ErrNotHeld)
	a.do("permit.release", "seen", id)
	require.Equal(t, "3", a.do("permit.available", "seen"))
}

// Permits that one side lets expire go to the other, and the permits still add up.
func TestExpiredPermitsAreSharedToo(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{Lease: short, MaxPoll: time.Second})
	a := j.thread("a")
	brief := semaphore.New(g.client, "expired", rlock.FixedLease(300*time.Millisecond))
	require.NoError(t, brief.SetCapacity(t.Context(), 2))
	a.do("permit.acquire", "expired", "2", "300")
	_, late, err := brief.Acquire(t.Context(), 2)
	require.NoError(t, err, "Java's are over")
	theirs := a.do("permit.acquire", "expired", "2", hour)
	require.ErrorIs(t, late(), rlock.ErrLost)
	require.ErrorIs(t, take(brief, 1).err, rlock.ErrBusy)
	a.do("permit.release", "expired", theirs)
	require.Equal(t, "2", a.do("permit.all", "expired"))
}

// The watchdog's renewals keep permits from Java for longer than a lease.
func TestRenewedPermitsStayWithTheirHolder(t *testing.T) {
	t.Parallel()
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{Lease: time.Second})
	a := j.thread("a")
	s := semaphore.New(g.client, "renewed")
	require.NoError(t, s.SetCapacity(t.Context(), 1))
	held := take(s, 1)
	require.NoError(t, held.err)
	waiting := a.start("permit.acquire", "renewed", "1", hour)
	rdb := server.Client(t)
	before := rdb.ZRangeWithScores(t.Context(), "{renewed}:timeout", 0, 0).Val()[0].Score
	redistest.Eventually(t, limit, func() bool {
		now := rdb.ZRangeWithScores(t.Context(), "{renewed}:timeout", 0, 0).Val()
		return len(now) == 1 && now[0].Score > before+3000
	}, "it is renewed for three leases")
	require.Empty(t, waiting)
	require.NoError(t, held.ctx.Err())
	require.NoError(t, held.unlock())
	a.do("permit.release", "renewed", javaArrives(t, waiting))
}

// Java threads, goroutines and processes contend for three permits while some of them are killed: never
// are more than three inside, both sides make progress, and in the end all permits are there.
func TestMixedContendersForPermitsUnderSIGKILL(t *testing.T) {
	t.Parallel()
	const name, capacity = "mixed-permits", 3
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{Lease: short, MaxPoll: time.Second})
	s := semaphore.New(g.client, name)
	require.NoError(t, s.SetCapacity(t.Context(), capacity))
	p := inside{rdb: server.Client(t), key: name + ":inside", capacity: capacity}
	doomed := startJava(t, []string{server.Addr()}, javaOptions{})
	hammer := func(j *java, me string, least int) <-chan answer {
		return j.thread(me).start("permit.hammer", name, p.key, me, "3000", strconv.Itoa(least),
			strconv.Itoa(capacity), strconv.FormatInt(short.Milliseconds(), 10))
	}
	for i := range 2 {
		hammer(doomed, fmt.Sprint("doomed", i), 1<<30)
	}
	var calls []<-chan answer
	for i := range 3 {
		calls = append(calls, hammer(j, fmt.Sprint("java", i), 20))
	}
	stop, entries, overlaps := make(chan struct{}), 0, 0
	done := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			err := s.Do(context.Background(), 1, func(ctx context.Context) error {
				overlap, err := p.visit(ctx, "go")
				if overlap {
					overlaps++
				}
				entries++
				return err
			})
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 6 { // each is killed wherever it is, usually inside
		me := fmt.Sprint("child", i)
		child := permitVisitor.Start(t, orders{
			Addr: server.Addr(), Name: name, Me: me, Lease: short, Capacity: capacity,
		})
		child.Hears("ready")
		time.Sleep(200 * time.Millisecond)
		child.Kill()
		child.Silent("more were inside than there are permits")
		require.NoError(t, p.rdb.ZRem(t.Context(), p.key, me).Err())
	}
	doomed.kill()
	require.NoError(t, p.rdb.ZRem(t.Context(), p.key, "doomed0", "doomed1").Err())
	for i, call := range calls {
		var in, over int
		_, err := fmt.Sscan(javaArrives(t, call), &in, &over)
		require.NoError(t, err)
		require.GreaterOrEqual(t, in, 20)
		overlaps += over
		t.Logf("java%d: %d", i, in)
	}
	close(stop)
	require.NoError(t, <-done)
	t.Logf("go: %d", entries)
	require.GreaterOrEqual(t, entries, 20)
	require.Zero(t, overlaps, "more were inside than there are permits")
	_, release, err := s.Acquire(t.Context(), capacity)
	require.NoError(t, err, "those of the killed come back")
	require.NoError(t, release())
	require.Equal(t, strconv.Itoa(capacity), j.thread("end").do("permit.available", name))
}
