// Package gocronlock gives gocron the locks of this module, so that a job runs once, however many processes schedule
// it.
//
//	scheduler, err := gocron.NewScheduler(
//		gocron.WithDistributedLocker(gocronlock.New(client, "cron:", 30*time.Second)))
//	job, err := scheduler.NewJob(gocron.CronJob("0 3 * * *", false), gocron.NewTask(report),
//		gocron.WithName("report"))
//
// A [Locker] spreads the jobs over the schedulers: the first to come runs the job. With an [Elector] one scheduler
// runs all of them, until it ends or cannot reach Redis any more:
//
//	elector := gocronlock.NewElector(leader.New(rlock.New(client, "cron")))
//	defer elector.Close()
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
//
// # Rules
//
//  1. Name each job. gocron uses the name as the key of the lock, and without one the name of the function.
//  2. Schedule by the clock, by gocron.CronJob for instance. Jobs of gocron.DurationJob begin when their scheduler
//     began, at a different time in each process, and a lock can only keep runs apart that are close to one another.
//  3. The time for which a lock is kept at least must be longer than the clocks of the machines differ, and shorter
//     than the interval of the job. A job that takes a millisecond on a machine whose clock is a second ahead has ended
//     when the others come; the lock is still there, and they do not run it again.
//  4. A job that must not go on after a loss takes the lock itself, without a Locker, and uses its context.
//
// Rule 4 in code:
//
//	gocron.NewTask(func(ctx context.Context) error {
//		held, unlock, err := rlock.New(client, "cron:report", rlock.MinHold(30*time.Second)).TryLock(ctx)
//		if errors.Is(err, rlock.ErrBusy) {
//			return nil // another scheduler runs it
//		}
//		if err != nil {
//			return err
//		}
//		return lock.Join(report(held), unlock())
//	})
//
// # What is promised, and what is not
//
// With a Locker, of schedulers whose clocks differ by less than that time one runs each run of a job, with the promises
// and the limits of package rlock. When Redis cannot be reached nobody runs it: gocron skips the run, and tells the
// listener gocron.AfterLockError.
//
// When the lock is lost in the middle, gocron goes on: it gives the job no context of the lock, and drops the error of
// Unlock, as it does if Redis does not confirm the release: see [Lock.Unlock]. With an Elector, gocron asks once, when
// a run begins. A run that begins while its scheduler leads goes on when the next one leads already.
//
// gocron skips a run without a word if an Elector does not lead, whatever the reason. If Redis does not answer the
// Elector, or refuses it, the log of its client says so, and [Elector.IsLeader] has the error, for a health check for
// instance. The Elector goes on campaigning.
//
// # Why it is safe
//
// A Locker keeps nothing: each run has a hold of its own, so two runs of one process exclude one another as those of
// two do. It makes one attempt: a scheduler that waited for its turn would run the job when the other one has. MinHold
// keeps the lease in Redis after Unlock, and no goroutine of this process inherits it.
//
// An Elector relies on its term until the context of the term ends, or the validity of its hold does, which both come
// before the end of the lease in Redis.
package gocronlock
