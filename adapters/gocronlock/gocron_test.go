package gocronlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/adapters/gocronlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// scheduler starts a scheduler with a job that runs each minute by the clock.
func scheduler(t *testing.T, with gocron.SchedulerOption, job func()) gocron.Scheduler {
	t.Helper()
	s, err := gocron.NewScheduler(with, gocron.WithLocation(time.UTC))
	require.NoError(t, err)
	_, err = s.NewJob(gocron.CronJob("* * * * *", false), gocron.NewTask(job), gocron.WithName("report"))
	require.NoError(t, err)
	s.Start()
	return s
}

// Of five schedulers one runs the job each minute. It takes no time, and still nobody runs it a second time.
func TestEachRunHappensOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		var runs atomic.Int64
		for range 5 {
			locker := gocronlock.New(lab.Client(nil), "cron:", 10*time.Second)
			s := scheduler(t, gocron.WithDistributedLocker(locker), func() { runs.Add(1) })
			defer func() { require.NoError(t, s.Shutdown()) }()
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(30 * time.Second)))
		before := runs.Load()
		for i := range int64(10) {
			time.Sleep(time.Minute)
			require.Equal(t, before+i+1, runs.Load())
		}
	})
}

// Whoever comes as late as clocks differ finds the lock, though the job has ended; a whole interval later it is free.
func TestALockIsKeptAfterAShortJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		here, there := gocronlock.New(lab.Client(nil), "cron:", 30*time.Second),
			gocronlock.New(lab.Client(nil), "cron:", 30*time.Second)
		first, err := here.Lock(t.Context(), "report")
		require.NoError(t, err)
		over, end := context.WithCancel(t.Context())
		end()
		require.NoError(t, first.Unlock(over), "gocron's context may be over")
		for _, late := range []*gocronlock.Locker{there, here} {
			time.Sleep(10 * time.Second)
			_, err := late.Lock(t.Context(), "report")
			require.ErrorIs(t, err, rlock.ErrBusy)
		}
		other, err := there.Lock(t.Context(), "another job")
		require.NoError(t, err)
		require.NoError(t, other.Unlock(t.Context()))
		time.Sleep(11 * time.Second)
		next, err := there.Lock(t.Context(), "report")
		require.NoError(t, err)
		require.NoError(t, next.Unlock(t.Context()))
	})
}

// The context of a Lock tells a loss, and so does Unlock.
func TestALossIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		l, err := gocronlock.New(lab.Client(nil), "cron:", time.Second).Lock(t.Context(), "report")
		require.NoError(t, err)
		lab.Lose("cron:report", rlock.LossGone)
		held := l.(*gocronlock.Lock).Context()
		<-held.Done()
		require.ErrorIs(t, context.Cause(held), lock.ErrLost)
		require.ErrorIs(t, l.Unlock(t.Context()), lock.ErrLost)
	})
}

// Bad input and a closed client are errors of Lock, by which gocron skips the run.
func TestWhatLockRefuses(t *testing.T) {
	t.Parallel()
	client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
	require.NoError(t, err)
	var bad *rlock.ArgumentError
	_, err = gocronlock.New(client, "", -1).Lock(t.Context(), "report")
	require.ErrorAs(t, err, &bad)
	require.NoError(t, client.Close())
	_, err = gocronlock.New(client, "", time.Second).Lock(t.Context(), "report")
	require.ErrorIs(t, err, rlock.ErrClosed)
}

// One scheduler runs all jobs. When it resigns, or loses its term, another one does.
func TestTheLeaderRunsAllJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		var runs [3]atomic.Int64
		var electors [3]*gocronlock.Elector
		for i := range runs {
			electors[i] = gocronlock.NewElector(leader.New(rlock.New(lab.Client(nil), "cron")))
			synctest.Wait() // they campaign in this order
			s := scheduler(t, gocron.WithDistributedElector(electors[i]), func() { runs[i].Add(1) })
			defer func() { require.NoError(t, s.Shutdown()) }()
		}
		total := func() (sum int64) {
			for i := range runs {
				sum += runs[i].Load()
			}
			return sum
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(90 * time.Second)))
		before, all := runs[0].Load(), total()
		time.Sleep(5 * time.Minute)
		require.Equal(t, before+5, runs[0].Load(), "the first one leads")
		require.Equal(t, all+5, total())

		require.NoError(t, electors[0].Close())
		require.ErrorIs(t, electors[0].IsLeader(t.Context()), gocronlock.ErrNotLeader)
		before, all = runs[0].Load(), total()
		time.Sleep(5 * time.Minute)
		require.Equal(t, before, runs[0].Load())
		require.Equal(t, all+5, total(), "another one leads")

		lab.Lose("cron", rlock.LossGone)
		time.Sleep(time.Minute) // by then somebody leads again
		all = total()
		time.Sleep(5 * time.Minute)
		require.Equal(t, all+5, total())
		for _, e := range electors[1:] {
			require.NoError(t, e.Close())
		}
	})
}

// An Elector of a closed client says so.
func TestAnElectorThatCannotCampaign(t *testing.T) {
	t.Parallel()
	client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
	require.NoError(t, err)
	require.NoError(t, client.Close())
	e := gocronlock.NewElector(leader.New(rlock.New(client, redistest.Key(t))))
	redistest.Eventually(t, time.Minute, func() bool {
		err = e.IsLeader(t.Context())
		return err != gocronlock.ErrNotLeader
	}, "the campaign ends")
	require.ErrorIs(t, err, rlock.ErrClosed)
	require.ErrorIs(t, err, gocronlock.ErrNotLeader)
	require.ErrorIs(t, e.Close(), rlock.ErrClosed)
}

// On a real server, two schedulers whose jobs begin each second run each of them once.
func TestOnAServer(t *testing.T) {
	t.Parallel()
	const atLeast = 500 * time.Millisecond
	var running atomic.Int64
	runs, name := make(chan time.Time, 100), redistest.Key(t)
	for range 2 {
		client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
		require.NoError(t, err)
		s, err := gocron.NewScheduler(gocron.WithDistributedLocker(gocronlock.New(client, "", atLeast)))
		require.NoError(t, err)
		_, err = s.NewJob(gocron.CronJob("* * * * * *", true), gocron.NewTask(func() {
			if running.Add(1) > 1 {
				t.Error("two at a time")
			}
			runs <- time.Now()
			running.Add(-1)
		}), gocron.WithName(name))
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() {
			require.NoError(t, s.Shutdown())
			require.NoError(t, client.Close())
		})
	}
	last := <-runs
	for range 3 {
		next := <-runs
		require.Greater(t, next.Sub(last), atLeast/2)
		last = next
	}
}
