package watchdog

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Need 4, bug 7: Keep and Stop of one lease at the same time, in any order:
// Stop has the last word, and the books balance.
func TestStopAgainstKeep(t *testing.T) {
	const rounds = 100_000
	clock := NewClock()
	wheel := NewWheel(clock, 0)
	defer wheel.Close()
	dog := New(Config{
		Wheel: wheel, Period: time.Hour,
		Renew: func(context.Context, string, []*Lease, []Result) {},
		Lost:  func(*Lease, error) { t.Error("lost") },
	})
	defer dog.Close()
	leases := make(chan *Lease, 128)
	var stopper sync.WaitGroup
	stopper.Go(func() {
		for l := range leases {
			dog.Stop(l)
		}
	})
	for range rounds {
		l := &Lease{}
		leases <- l
		dog.Renew(l, clock.Now(), 3*time.Hour)
	}
	close(leases)
	stopper.Wait()
	assert.Zero(t, dog.Len())
	assert.Zero(t, wheel.Len())
}

// Everything at once, with a Redis that fails in every way: nobody is lost late,
// twice, or after Stop, and nothing is left over.
func TestStorm(t *testing.T) {
	for seed := range uint64(8) {
		inKennel(t, byOwner, func(t *testing.T, k *kennel) { storm(t, k, seed) })
	}
}

func storm(t *testing.T, k *kennel, seed uint64) {
	var answers sync.Mutex
	weather := rand.New(rand.NewPCG(seed, 5))
	k.set(func(ctx context.Context, shard string, due []*Lease, results []Result) {
		answers.Lock()
		delay := time.Duration(weather.Int64N(int64(6 * time.Second)))
		kind := weather.IntN(10)
		answers.Unlock()
		time.Sleep(delay)
		switch {
		case kind < 6:
			renewAll(ctx, shard, due, results)
		case kind < 8:
			fail(errDown)(ctx, shard, due, results)
		case kind < 9:
			hang(ctx, shard, due, results)
		default:
			results[0] = Result{Err: ErrGone}
		}
	})
	var users sync.WaitGroup
	for u := range uint64(20) {
		users.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1000+u))
			for range 20 {
				useOneLease(t, k, random)
			}
		})
	}
	users.Wait()
	synctest.Wait()
	seen := make(map[*Lease]bool)
	for _, got := range k.seenLosses() {
		assert.False(t, seen[got.lease], "lost twice")
		seen[got.lease] = true
		assert.LessOrEqual(t, got.at, got.lease.ValidUntil())
	}
	assert.Zero(t, k.Len())
	assert.Zero(t, k.wheel.Len())
}

func useOneLease(t *testing.T, k *kennel, random *rand.Rand) {
	l := &Lease{Of: string(rune('a' + random.IntN(3)))}
	k.Renew(l, k.clock.Now(), testLease)
	for range random.IntN(30) {
		time.Sleep(time.Duration(random.Int64N(int64(5 * time.Second))))
		now := k.clock.Now()
		switch random.IntN(8) {
		case 0:
			k.Guard(l, now+time.Duration(random.Int64N(int64(testLease))))
		case 1:
			k.Hurry(l)
		default:
			k.Renew(l, now-time.Second, testLease)
		}
	}
	before := len(k.lossesOf(l))
	if k.Stop(l) {
		assert.Zero(t, before, "lost and live")
		time.Sleep(testLease)
		assert.Empty(t, k.lossesOf(l), "lost after Stop")
	}
}

func (k *kennel) lossesOf(l *Lease) (losses []loss) {
	for _, got := range k.seenLosses() {
		if got.lease == l {
			losses = append(losses, got)
		}
	}
	return losses
}
