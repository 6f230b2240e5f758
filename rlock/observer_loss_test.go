package rlock_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

const lossText = "lock lost"

// loseAll locks n names, has Redis forget them all at one moment, and returns when the client has asked again.
func loseAll(t *testing.T, sim *timeSim, client *rlock.Client, n int) (holds []timeHold) {
	t.Helper()
	holds = make([]timeHold, n)
	var all sync.WaitGroup
	for i := range holds {
		all.Go(func() { holds[i] = timeLock(t, t.Context(), rlock.New(client, "n"+strconv.Itoa(i))) })
	}
	all.Wait()
	sim.Miniredis().FlushAll()
	time.Sleep(time.Minute)
	for _, h := range holds {
		require.Error(t, h.ctx.Err())
	}
	return holds
}

func loseUnlock(t *testing.T, holds []timeHold) {
	t.Helper()
	for _, h := range holds {
		timeLost(t, h.unlock(), rlock.LossGone)
	}
}

// defect A5: every loss is told, however many there are at one moment, and however slow the observer of the
// renewals that end in them. It runs alone: it makes thousands of goroutines ready at once, behind which those of a
// test in real time would stand.
func TestEveryLossIsToldThoughRenewedIsSlow(t *testing.T) {
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const holds = 6000
		var lost, renewed atomic.Int64
		log := &observerLog{}
		client := sim.client(t, rlock.ClientOptions{Logger: slog.New(log), Observer: &rlock.Observer{
			Renewed: func(rlock.Renewal) { time.Sleep(time.Millisecond); renewed.Add(1) },
			Lost:    func(*rlock.LostError) { time.Sleep(time.Millisecond); lost.Add(1) },
		}})
		loseUnlock(t, loseAll(t, sim, client, holds))
		time.Sleep(time.Minute)
		require.Equal(t, int64(holds), lost.Load())
		require.Len(t, log.with(lossText), holds)
		// Dropped renewal events are counted.
		slow := log.with("Observer.Renewed is too slow: renewals were not reported")
		require.NotEmpty(t, slow)
		dropped := int64(0)
		for _, line := range slow {
			dropped += line["renewals"].Int64()
		}
		require.Equal(t, int64(holds), renewed.Load()+dropped)
	})
}

// defect A5: a callback that blocks holds up its own kind of event and nothing else: not the log, not the other
// callback, and not Close beyond ReleaseTimeout.
func TestABlockedCallbackHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	for name, blocks := range map[string]struct{ renewed, lost bool }{
		"Renewed": {renewed: true}, "Lost": {lost: true}, "both": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				const holds = 5
				var lost, renewed atomic.Int64
				log, release := &observerLog{}, make(chan struct{})
				goOn := sync.OnceFunc(func() { close(release) })
				defer goOn()
				client := sim.client(t, rlock.ClientOptions{Logger: slog.New(log), Observer: &rlock.Observer{
					Renewed: func(rlock.Renewal) {
						renewed.Add(1)
						if blocks.renewed {
							<-release
						}
					},
					Lost: func(*rlock.LostError) {
						lost.Add(1)
						if blocks.lost {
							<-release
						}
					},
				}})
				loseUnlock(t, loseAll(t, sim, client, holds))
				told := func(blocked bool) int64 {
					if blocked {
						return 1
					}
					return holds
				}
				require.Len(t, log.with(lossText), holds)
				require.Equal(t, told(blocks.lost), lost.Load())
				require.Equal(t, told(blocks.renewed), renewed.Load())

				began := time.Now()
				require.NoError(t, client.Close())
				require.LessOrEqual(t, time.Since(began), timeRelease+time.Second)
				require.Len(t, log.with("Close no longer waits for a function of the Observer, which is still running"), 1)
				goOn()
				synctest.Wait()
				require.Equal(t, int64(holds), lost.Load(), "what was lost is told all the same")
			})
		})
	}
}

// A log that blocks holds up nobody either.
func TestABlockedLogHoldsUpNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const holds = 5
		var lost atomic.Int64
		release := make(chan struct{})
		defer close(release)
		client := sim.client(t, rlock.ClientOptions{
			Logger: slog.New(blockedLog{slog.DiscardHandler, release}),
			Observer: &rlock.Observer{Lost: func(*rlock.LostError) {
				lost.Add(1)
				panic("which is logged, too")
			}},
		})
		loseUnlock(t, loseAll(t, sim, client, holds))
		require.Equal(t, int64(holds), lost.Load())
		began := time.Now()
		require.NoError(t, client.Close())
		require.LessOrEqual(t, time.Since(began), timeRelease+time.Second)
	})
}

// blockedLog is a log handler that blocks until it is released.
type blockedLog struct {
	slog.Handler
	release <-chan struct{}
}

func (l blockedLog) Enabled(context.Context, slog.Level) bool { return true }

func (l blockedLog) Handle(context.Context, slog.Record) error {
	<-l.release
	return nil
}
