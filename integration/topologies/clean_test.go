package topologies

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
)

// clean checks that nothing is left when all processes have ended: no hold, no waiter in a queue, no subscriber.
// Fencing tokens stay, as they must. So do, for a while, the records of requests, and a fair lock's record of a queue
// that was emptied key by key. A semaphore's number stays, and all permits are free: those that were lost may stand
// among the leases, over, until they are wanted (permit_release.lua).
func (s *site) clean(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(patience / 2)
	left := s.left(t)
	for ; len(left) > 0 && time.Now().Before(deadline); left = s.left(t) {
		time.Sleep(20 * time.Millisecond)
	}
	for _, what := range left[:min(len(left), 10)] {
		t.Errorf("left behind: %q", what)
	}
}

func (s *site) left(t testing.TB) (left []string) {
	t.Helper()
	for _, server := range s.primaries(t) {
		rdb := server.Client(t)
		over := s.permitsOver(t, rdb)
		for _, key := range server.Keys(t) {
			_, permits := s.permits.Load(key)
			lost, leases := over[key]
			expires := rdb.PTTL(context.Background(), key).Val() > 0
			switch {
			case strings.HasPrefix(key, "redisson_lock_token:"), strings.HasPrefix(key, "holdfast_request:"):
			case expires && (strings.HasPrefix(key, "holdfast_fair_state:") || strings.HasPrefix(key, "holdfast_fair_alive:")):
			case s.failed && strings.HasPrefix(key, "holdfast_fair_queue:") && expires: // its end was not replicated
			case permits && rdb.Get(context.Background(), key).Val() == strconv.FormatInt(1-over[leasesOf(key)], 10):
			case leases && rdb.ZCard(context.Background(), key).Val() == lost:
			default:
				left = append(left, key)
			}
		}
		_ = rdb.Close()
		for _, channel := range server.PubSubChannels(t) {
			if channel != "__sentinel__:hello" {
				left = append(left, channel)
			}
		}
	}
	return left
}

// permitsOver is how many permits of each set of leases are over.
func (s *site) permitsOver(t testing.TB, rdb *redis.Client) map[string]int64 {
	t.Helper()
	now := rdb.Time(context.Background()).Val().UnixMilli()
	over := make(map[string]int64)
	s.permits.Range(func(name, _ any) bool {
		leases := leasesOf(name.(string))
		over[leases] = rdb.ZCount(context.Background(), leases, "-inf", strconv.FormatInt(now, 10)).Val()
		return true
	})
	return over
}

// leasesOf is the set of the leases of a semaphore's permits.
func leasesOf(name string) string { return keys.Suffix(name, "timeout") }
