package gocronlock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/adapters/gocronlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// scheduler starts a scheduler with a job that runs each minute by the clock.
func scheduler(t *testing.T, with gocron.SchedulerOption, job func()) gocron.Scheduler {
	t.Helper()
	return at(t, "0 * * * * *", with, job)
}

// at is scheduler for a schedule with seconds.
func at(t *testing.T, when string, with gocron.SchedulerOption, job func()) gocron.Scheduler {
	t.Helper()
	s, err := gocron.NewScheduler(with, gocron.WithLocation(time.UTC))
	require.NoError(t, err)
	_, err = s.NewJob(gocron.CronJob(when, true), gocron.NewTask(job), gocron.WithName("report"))
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

// The second scheduler's clock is five seconds late, and the job has long ended when it comes. A lock that is kept for
// longer than that lets the job run once each minute; one that is kept for a shorter time does not.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for atLeast, perMinute := range map[time.Duration]int64{30 * time.Second: 1, time.Second: 2} {
		t.Run(atLeast.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lab := holdfasttest.New(t)
				var runs atomic.Int64
				for _, when := range []string{"0 * * * * *", "5 * * * * *"} {
					locker := gocronlock.New(lab.Client(nil), "cron:", atLeast)
					s := at(t, when, gocron.WithDistributedLocker(locker), func() { runs.Add(1) })
					defer func() { require.NoError(t, s.Shutdown()) }()
				}
				time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(90 * time.Second)))
				for range 5 {
					before := runs.Load()
					time.Sleep(time.Minute)
					require.Equal(t, before+perMinute, runs.Load())
				}
			})
		})
	}
}

// A process that comes as late as clocks differ finds the lock, though the job has ended; a whole interval later it is
// free.
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

// An Elector that Redis refuses says so, and leads once it is let in (defect F13). It was silent for ever.
func TestAnElectorThatRedisRefuses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opts := server.Options()
	opts.Username, opts.Password = "cron", "secret"
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	var log textlog.Log
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Logger: log.Logger()})
	require.NoError(t, err)
	e := gocronlock.NewElector(leader.New(rlock.New(client, "cron")))
	redistest.Eventually(t, time.Minute, func() bool {
		return errors.Is(e.IsLeader(t.Context()), rlock.ErrUnavailable)
	}, "the refusal is told")
	err = e.IsLeader(t.Context())
	require.ErrorIs(t, err, gocronlock.ErrNotLeader)
	require.ErrorContains(t, err, "Redis refused the credentials")
	redistest.Eventually(t, time.Minute, func() bool {
		return strings.Contains(log.String(), "holdfast: leader: the campaign failed")
	}, "it is logged")
	require.NotContains(t, log.String(), "secret")
	require.NoError(t, server.Client(t).Do(t.Context(), "ACL", "SETUSER", "cron", "on", ">secret", "~*", "&*", "+@all").Err())
	redistest.Eventually(t, time.Minute, func() bool { return e.IsLeader(t.Context()) == nil }, "it leads")
	require.NoError(t, e.Close())
	require.NoError(t, client.Close())
}

// On a real server, of two schedulers one runs the job: when both come at the same time, and when the second one comes
// after the job of the first one has ended. Each says what became of its run, so nothing here depends on speed.
func TestOnAServer(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"at the same time": false, "after the job": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const atLeast = 10 * time.Minute // more than any run of this test takes
			runs, outcomes, key := new(atomic.Int64), make(chan error, 2), redistest.Key(t)
			first, second := once(t, key, atLeast, runs, outcomes), once(t, key, atLeast, runs, outcomes)
			var said []error
			first.Start()
			if late {
				said = append(said, <-outcomes)
				require.NoError(t, said[0])
			}
			second.Start()
			for len(said) < 2 {
				said = append(said, <-outcomes)
			}
			require.EqualValues(t, 1, runs.Load())
			if said[0] == nil {
				said[0], said[1] = said[1], said[0]
			}
			require.ErrorIs(t, said[0], rlock.ErrBusy)
			require.NoError(t, said[1])
		})
	}
}

// once is a scheduler with a client and a connection of its own, that runs a job once when it starts. It sends what
// became of the run: nil, or why gocron skipped it.
func once(
	t *testing.T, job string, atLeast time.Duration, runs *atomic.Int64, outcomes chan<- error,
) gocron.Scheduler {
	t.Helper()
	client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
	require.NoError(t, err)
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(gocronlock.New(client, "", atLeast)))
	require.NoError(t, err)
	_, err = s.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()),
		gocron.NewTask(func() { runs.Add(1) }), gocron.WithName(job), gocron.WithEventListeners(
			gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { outcomes <- err }),
			gocron.AfterJobRuns(func(uuid.UUID, string) { outcomes <- nil })))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown())
		require.NoError(t, client.Close())
	})
	return s
}
