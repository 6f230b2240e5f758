package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/redlock"
)

// disturb has one of the paths fail in some way for a moment.
func (l *lab) disturb(random *rand.Rand) {
	i := random.IntN(len(l.proxies))
	proxy, server := l.proxies[i], l.servers[i]
	moment := time.Duration(1+random.IntN(300)) * time.Millisecond
	switch random.IntN(8) {
	case 0:
		proxy.CutAll()
	case 1:
		proxy.Blackhole(true)
		time.Sleep(moment)
		proxy.Blackhole(false)
	case 2:
		proxy.Refuse(true)
		proxy.CutAll()
		time.Sleep(moment)
		proxy.Refuse(false)
	case 3:
		server.Stop()
		time.Sleep(moment)
		server.Continue()
	default:
		actions := []faultproxy.Action{
			faultproxy.DropReply, faultproxy.DropRequest, faultproxy.CutBefore, faultproxy.CutAfter,
			faultproxy.Duplicate, faultproxy.Delay(moment),
		}
		proxy.On(faultproxy.AnyScript, actions[random.IntN(len(actions))]).Times(1 + random.IntN(5))
	}
}

// contend locks and unlocks, inner levels too, until ctx ends.
func contend(ctx context.Context, client *redlock.Client, random *rand.Rand) {
	for ctx.Err() == nil {
		name := fmt.Sprint("left:", random.IntN(6))
		calling, cancel := context.WithTimeout(ctx, time.Duration(1+random.IntN(500))*time.Millisecond)
		held, unlock, err := redlock.New(client, name).Lock(calling)
		if err == nil {
			if random.IntN(2) == 0 {
				if _, leave, err := redlock.New(client, name).Lock(held); err == nil {
					time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
					_ = leave()
				}
			}
			time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
			_ = unlock() // which fails where no quorum answers
		}
		cancel()
	}
}

// left are the keys that stand at the servers, with their lives.
func (l *lab) left() (keys map[string]time.Duration) {
	l.t.Helper()
	keys = make(map[string]time.Duration)
	for i, s := range l.servers {
		rdb := s.Client(l.t)
		for _, key := range s.Keys(l.t) {
			life, err := rdb.PTTL(context.Background(), key).Result()
			require.NoError(l.t, err)
			if life != -2 { // it has gone since
				keys[fmt.Sprintf("%s at %d", key, i)] = life
			}
		}
	}
	return keys
}

func isToken(key string) bool { return strings.HasPrefix(key, "redisson_lock_token:") }

// defect F28: what clients that were closed in the middle of faults have left at nodes which did not answer ends with a
// lease, and no key is without an end.
func TestEveryKeyOfAClosedClientHasAnEnd(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	l := newLab(t, 5)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	o := options(lease)
	o.ReleaseTimeout = 300 * time.Millisecond
	var clients []*redlock.Client
	for range 3 {
		clients = append(clients, l.client(l.proxied(), o))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var working, disturbing sync.WaitGroup
	for n := range 12 {
		working.Go(func() {
			contend(ctx, clients[n%3], rand.New(rand.NewPCG(seed, uint64(n))))
		})
	}
	random := rand.New(rand.NewPCG(seed, 100))
	for range 30 {
		l.disturb(random)
	}
	hangs, gone := l.proxies[random.IntN(2)], l.servers[2+random.IntN(3)]
	hangs.Blackhole(true)
	gone.Stop()
	for _, client := range clients {
		disturbing.Go(func() { _ = client.Close() }) // it names what was held
	}
	disturbing.Wait()
	cancel()
	working.Wait()
	gone.Continue()
	hangs.Blackhole(false)

	held, tokens := 0, 0
	for key, life := range l.left() {
		require.Positive(t, life, "%s has no end", key)
		if isToken(key) {
			tokens++
			require.LessOrEqual(t, life, 9*24*time.Hour, key) // FenceTTL and a quarter
			continue
		}
		held++
		require.LessOrEqual(t, life, lease, key)
	}
	t.Logf("%d holds and %d tokens were left", held, tokens)
	time.Sleep(lease + o.NodeTimeout) // by then what was still on its way was carried out or refused
	for key := range l.left() {
		require.True(t, isToken(key), "%s outlives its lease", key)
	}
}
