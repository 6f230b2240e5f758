package rlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// timeValid is the end of the validity that was confirmed last.
func (s *timeSim) timeValid(lease time.Duration) time.Time {
	return s.confirmed("acquire", "renew").Add(lease - lease/100 - timeMargin - timeTick)
}

// endsAt waits for the loss of a hold, and asserts that it comes at an instant, by a tick of the wheel.
func endsAt(t *testing.T, held context.Context, at time.Time) {
	t.Helper()
	<-held.Done()
	now := time.Now()
	require.False(t, now.After(at), "%v late", now.Sub(at))
	require.True(t, now.After(at.Add(-timeTick)), "%v early", at.Sub(now))
	timeLost(t, context.Cause(held), rlock.LossExpired)
}

// While renewals fail, the context ends the grace before the validity, of which Held tells the end as ever. The lock is
// another caller's when the validity is over and not before, whether or not the work unlocks and whenever Redis answers
// again.
func TestGraceEndsTheHoldBeforeItsValidity(t *testing.T) {
	t.Parallel()
	for name, verdict := range timeSilences {
		for grace, lease := range map[time.Duration]time.Duration{
			time.Millisecond: time.Second, 5 * time.Second: 30 * time.Second, 15 * time.Second: 30 * time.Second,
		} {
			t.Run(name+" "+grace.String(), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T, sim *timeSim) {
					opts := rlock.ClientOptions{Lease: lease}
					lock := rlock.New(sim.client(t, opts), "order", rlock.Grace(grace))
					other := rlock.New(sim.client(t, opts), "order")
					hold := timeLock(t, t.Context(), lock)
					time.Sleep(2*lease + lease/7)
					sim.suffer(timeAlways(verdict))
					valid := sim.timeValid(lease)
					require.Equal(t, valid.UnixNano(), timeHeld(t, hold.ctx, lock).ValidUntil.UnixNano())
					endsAt(t, hold.ctx, valid.Add(-grace))
					require.ErrorContains(t, context.Cause(hold.ctx), "lease expired: Grace began, "+grace.String())
					require.NotErrorIs(t, context.Cause(hold.ctx), context.DeadlineExceeded)
					require.True(t, sim.holds("order"))
					sim.suffer(nil)
					if grace > time.Second {
						_, _, err := other.TryLock(t.Context())
						require.ErrorIs(t, err, rlock.ErrBusy)
						_, _, err = lock.TryLock(t.Context())
						require.ErrorIs(t, err, rlock.ErrBusy, "its own process waits as well")
					}
					timeLost(t, hold.unlock(), rlock.LossExpired)
					next := timeLock(t, t.Context(), other)
					require.False(t, time.Now().Before(valid), "another had it %v early", time.Until(valid))
					require.Less(t, time.Since(valid), 2*time.Second, "it is released when the validity is over")
					require.NoError(t, next.unlock())
					require.ErrorIs(t, hold.unlock(), rlock.ErrNotHeld)
				})
			})
		}
	}
}

// A renewal that is confirmed a moment before the grace begins puts it off.
func TestARenewalInTimePutsTheGraceOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const lease, grace = 30 * time.Second, 10 * time.Second
		lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "order", rlock.Grace(grace))
		hold := timeLock(t, t.Context(), lock)
		for range 20 {
			sim.suffer(timeOnly("renew", simredis.Cut))
			time.Sleep(time.Until(sim.timeValid(lease).Add(-grace - 2*time.Second)))
			require.NoError(t, context.Cause(hold.ctx))
			sim.suffer(nil)
			time.Sleep(5 * time.Second)
			require.NoError(t, context.Cause(hold.ctx))
		}
		require.NoError(t, hold.unlock())
		require.False(t, sim.holds("order"))
	})
}

// A hold that is never renewed ends the grace before its validity.
func TestGraceOfAFixedLease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const lease, grace = time.Minute, 20 * time.Second
		lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "order", rlock.FixedLease(lease), rlock.Grace(grace))
		hold := timeLock(t, t.Context(), lock)
		released := sim.count("release")
		endsAt(t, hold.ctx, sim.timeValid(lease).Add(-grace))
		require.EqualError(t, hold.unlock(),
			`holdfast: lock "order" lost: lease expired: Grace began, 20s before the end of the validity`)
		require.True(t, sim.holds("order"))
		require.LessOrEqual(t, sim.count("renew"), 1, "as the client begins to listen, it asks whether a break was missed")
		require.Equal(t, released, sim.count("release"), "it stays until its validity is over")
	})
}

// The outermost Lock decides the grace, as it does the lease.
func TestGraceOfNestedLevels(t *testing.T) {
	t.Parallel()
	const lease, grace = 30 * time.Second, 10 * time.Second
	for name, c := range map[string]struct{ outer, inner []rlock.Option }{
		"the outer has it": {outer: []rlock.Option{rlock.Grace(grace)}},
		"the inner has it": {inner: []rlock.Option{rlock.Grace(grace)}},
		"both have one":    {[]rlock.Option{rlock.Grace(grace)}, []rlock.Option{rlock.Grace(time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{})
				outer := timeLock(t, t.Context(), rlock.New(client, "order", c.outer...))
				inner := timeLock(t, outer.ctx, rlock.New(client, "order", c.inner...))
				sim.suffer(timeAlways(simredis.Cut))
				end := sim.timeValid(lease)
				if c.outer != nil {
					end = end.Add(-grace)
				}
				endsAt(t, outer.ctx, end)
				timeLost(t, context.Cause(inner.ctx), rlock.LossExpired)
				timeLost(t, inner.unlock(), rlock.LossExpired)
				timeLost(t, outer.unlock(), rlock.LossExpired)
				sim.suffer(nil)
			})
		})
	}
}

// A turn that is passed on in memory ends by the grace of the handle that has it, and a handle with one passes on as
// any other does.
func TestGraceOfATurnThatWasPassedOn(t *testing.T) {
	t.Parallel()
	const lease, grace = 30 * time.Second, 10 * time.Second
	for name, c := range map[string]struct {
		first, second []rlock.Option
		early         time.Duration
	}{
		"from one without": {second: []rlock.Option{rlock.Grace(grace)}, early: grace},
		"to one without":   {first: []rlock.Option{rlock.Grace(grace)}},
		"to a shorter one": {[]rlock.Option{rlock.Grace(grace)}, []rlock.Option{rlock.Grace(time.Second)}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client, rival := sim.client(t, rlock.ClientOptions{}), sim.client(t, rlock.ClientOptions{})
				plain := timeLock(t, t.Context(), rlock.New(rival, "order"))
				holds := make(chan timeHold)
				for _, opts := range [][]rlock.Option{c.first, c.second} {
					go func() { holds <- timeLock(t, t.Context(), rlock.New(client, "order", opts...)) }()
					synctest.Wait()
				}
				time.Sleep(time.Second) // in which tokens come up for the turns
				require.NoError(t, plain.unlock())
				first := <-holds
				asked := sim.count("acquire")
				require.NoError(t, first.unlock())
				second := <-holds
				require.Equal(t, asked, sim.count("acquire"), "it was passed in memory")
				sim.suffer(timeAlways(simredis.Cut))
				endsAt(t, second.ctx, sim.timeValid(lease).Add(-c.early))
				timeLost(t, second.unlock(), rlock.LossExpired)
				sim.suffer(nil)
			})
		})
	}
}

// Readers of one grant end each by the grace of its own handle, and the lock stays for the others, until the last of
// them is lost.
func TestGraceOfReadersOnOneGrant(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		read := func(opts ...rlock.Option) timeHold {
			return timeLock(t, t.Context(), rwlock.New(client, "report", opts...).Read())
		}
		plain, patient, hasty := read(), read(rlock.Grace(2*time.Second)), read(rlock.Grace(14*time.Second))
		side := rwlock.New(client, "report").Read()
		id := timeHeld(t, plain.ctx, side).ID
		require.Equal(t, id, timeHeld(t, hasty.ctx, side).ID, "they share a grant")
		valid := timeHeld(t, plain.ctx, side).ValidUntil
		sim.suffer(timeAlways(simredis.Cut))
		endsAt(t, hasty.ctx, valid.Add(-14*time.Second))
		timeLost(t, hasty.unlock(), rlock.LossExpired)
		require.NoError(t, patient.ctx.Err())
		endsAt(t, patient.ctx, valid.Add(-2*time.Second))
		timeLost(t, patient.unlock(), rlock.LossExpired)
		require.NoError(t, plain.ctx.Err())
		endsAt(t, plain.ctx, valid)
		timeLost(t, plain.unlock(), rlock.LossExpired)
		sim.suffer(nil)
	})
}

// Defect G7: Close released at once what must stay until the validity is over, and so did the unlock of a reader that
// was on the same grant as one whose grace had begun.
func TestNobodyHasTheLockBeforeTheGraceIsOver(t *testing.T) {
	t.Parallel()
	const lease, grace, validFor = 4 * time.Second, 2 * time.Second, 4*time.Second - 40*time.Millisecond - timeMargin - timeTick
	for name, end := range map[string]func(t *testing.T, client *rlock.Client) (ends func()){
		"Close after unlock": func(t *testing.T, client *rlock.Client) func() {
			hold := timeLock(t, t.Context(), rlock.New(client, "report", rlock.FixedLease(lease), rlock.Grace(grace)))
			return func() {
				<-hold.ctx.Done()
				timeLost(t, hold.unlock(), rlock.LossExpired)
				require.NoError(t, client.Close())
			}
		},
		"Close without unlock": func(t *testing.T, client *rlock.Client) func() {
			hold := timeLock(t, t.Context(), rlock.New(client, "report", rlock.FixedLease(lease), rlock.Grace(grace)))
			return func() {
				<-hold.ctx.Done()
				synctest.Wait()
				require.NoError(t, client.Close())
			}
		},
		"another reader of its grant unlocks": func(t *testing.T, client *rlock.Client) func() {
			plain, hasty := readersOfOneGrant(t, client, grace)
			return func() {
				<-hasty.ctx.Done()
				timeLost(t, hasty.unlock(), rlock.LossExpired)
				require.NoError(t, plain.unlock())
			}
		},
		"Close ends another reader of its grant": func(t *testing.T, client *rlock.Client) func() {
			_, hasty := readersOfOneGrant(t, client, grace)
			return func() {
				<-hasty.ctx.Done()
				require.Error(t, client.Close()) // it names the lock that is still held
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{Lease: lease})
				ends := end(t, client)
				began := time.Now()
				sim.suffer(timeAlways(simredis.Cut))
				time.Sleep(validFor - grace)
				sim.suffer(nil)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					ends()
				}()
				time.Sleep(time.Until(began.Add(validFor - timeTick)))
				require.True(t, sim.holds("report"), "it is free %v before the validity is over", validFor-time.Since(began))
				time.Sleep(100 * time.Millisecond)
				<-ended
				require.False(t, sim.holds("report"))
			})
		})
	}
}

// readersOfOneGrant are two, of which the second has a grace.
func readersOfOneGrant(t *testing.T, client *rlock.Client, grace time.Duration) (plain, hasty timeHold) {
	t.Helper()
	side := rwlock.New(client, "report").Read()
	plain = timeLock(t, t.Context(), side)
	hasty = timeLock(t, t.Context(), rwlock.New(client, "report", rlock.Grace(grace)).Read())
	require.Equal(t, timeHeld(t, plain.ctx, side).ID, timeHeld(t, hasty.ctx, side).ID, "they share a grant")
	return plain, hasty
}

// A set ends with the first of its members whose grace begins, and permits have a grace as locks do.
func TestGraceOfSetsAndPermits(t *testing.T) {
	t.Parallel()
	const lease, grace = 30 * time.Second, 10 * time.Second
	for name, take := range map[string]func(ctx context.Context, client *rlock.Client) (
		context.Context, func() error, error){
		"a member": func(ctx context.Context, client *rlock.Client) (context.Context, func() error, error) {
			members := []*rlock.Lock{rlock.New(client, "a"), rlock.New(client, "b", rlock.Grace(grace))}
			return multilock.New(members).Lock(ctx)
		},
		"the set": func(ctx context.Context, client *rlock.Client) (context.Context, func() error, error) {
			members := []*rlock.Lock{rlock.New(client, "a"), rlock.New(client, "b")}
			return multilock.New(members, rlock.Grace(grace)).Lock(ctx)
		},
		"permits": func(ctx context.Context, client *rlock.Client) (context.Context, func() error, error) {
			printers := semaphore.New(client, "printers", rlock.Grace(grace))
			return within(ctx, printers.SetCapacity(ctx, 3), func() (context.Context, func() error, error) {
				return printers.Acquire(ctx, 2)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				held, unlock, err := take(t.Context(), sim.client(t, rlock.ClientOptions{}))
				require.NoError(t, err)
				sim.suffer(timeAlways(simredis.Cut))
				endsAt(t, held, time.Now().Add(lease-lease/100-timeMargin-timeTick-grace))
				sim.suffer(nil)
				synctest.Wait()
				if name == "the set" {
					require.True(t, sim.holds("a"))
					require.True(t, sim.holds("b"), "the work has not stopped yet")
				}
				timeLost(t, unlock(), rlock.LossExpired)
			})
		})
	}
}

func within(
	ctx context.Context, err error, next func() (context.Context, func() error, error),
) (context.Context, func() error, error) {
	if err != nil {
		return ctx, nil, err
	}
	return next()
}

// A hold whose answer came so late that its grace has begun is given to nobody: it is released, and the call asks again.
func TestAHoldThatComesInItsGraceIsNotGivenOut(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const grace = 15 * time.Second
		client := sim.client(t, rlock.ClientOptions{})
		lock := rlock.New(client, "order", rlock.Grace(grace))
		sim.suffer(timeOnly("acquire", simredis.DropReply))
		time.AfterFunc(16*time.Second, func() { sim.suffer(nil) })
		hold := timeLock(t, t.Context(), lock)
		require.NoError(t, hold.ctx.Err())
		require.Greater(t, time.Until(timeHeld(t, hold.ctx, lock).ValidUntil), 2*grace-time.Second)
		require.NoError(t, hold.unlock())
		require.False(t, sim.holds("order"))
	})
}

// The work that returns the cause of its context, and unlock, report one loss: Do reports it once.
func TestALossByALimitIsReportedOnce(t *testing.T) {
	t.Parallel()
	for _, limit := range []rlock.Option{rlock.MaxHold(time.Second), rlock.Grace(50 * time.Millisecond)} {
		inBubble(t, func(t *testing.T, sim *timeSim) {
			client := sim.client(t, rlock.ClientOptions{})
			lock := rlock.New(client, "order", rlock.FixedLease(10*time.Second), limit)
			var cause error
			err := lock.Do(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return cause
			})
			require.EqualError(t, err, cause.Error())
		})
	}
}

// On a real server: the holder's context ends while the key is there and as long as the grace before it expires; another
// process, which waits all the time, gets the lock after the validity.
func TestGraceOnAServer(t *testing.T) {
	t.Parallel()
	const lease, grace = 3 * time.Second, 1500 * time.Millisecond
	lab := newTimeLab(t)
	name := redistest.Key(t)
	lock := rlock.New(lab.client(t, rlock.ClientOptions{Lease: lease}), name, rlock.Grace(grace))
	other := rlock.New(lab.outside(t, rlock.ClientOptions{Lease: lease}), name)
	hold := timeLock(t, t.Context(), lock)
	lab.proxy.Blackhole(true)
	valid := timeHeld(t, hold.ctx, lock).ValidUntil
	type entry struct {
		at  time.Time
		err error
	}
	entered := make(chan entry, 1)
	go func() {
		_, unlock, err := other.Lock(t.Context())
		at := time.Now()
		if err == nil {
			err = unlock()
		}
		entered <- entry{at, err}
	}()
	timeLost(t, timeOver(t, hold.ctx), rlock.LossExpired)
	require.Empty(t, entered, "the other process had the lock before the context ended")
	lab.proxy.Blackhole(false)
	timeLost(t, hold.unlock(), rlock.LossExpired)
	next := timeReceive(t, entered, "the other process gets the lock")
	require.NoError(t, next.err)
	require.False(t, next.at.Before(valid), "it had the lock before the validity was over")
}

// The text of an argument that is wrong says what is allowed.
func TestGraceIsAtMostHalfOfTheLease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		for _, good := range [][]rlock.Option{
			{rlock.Grace(15 * time.Second)}, {rlock.Grace(time.Millisecond)},
			{rlock.Lease(time.Minute), rlock.Grace(30 * time.Second)},
		} {
			require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "order", good...)).unlock())
		}
		long := rlock.New(client, "order", rlock.Grace(time.Minute), rlock.Lease(2*time.Minute))
		require.NoError(t, timeLock(t, t.Context(), long).unlock())
		_, _, err := multilock.New([]*rlock.Lock{long}, rlock.Lease(time.Minute)).Lock(t.Context())
		require.EqualError(t, err, "holdfast: Grace must be at most half of the lease, which is 1m0s (got 1m0s)")
		var bad *rlock.ArgumentError
		_, _, err = semaphore.New(client, "printers", rlock.Grace(time.Minute)).Acquire(t.Context(), 1)
		require.True(t, errors.As(err, &bad))
		require.Equal(t, "Grace", bad.Name)
	})
}
