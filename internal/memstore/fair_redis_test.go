package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// inRedis is a fair lock as the scripts keep it.
type inRedis struct {
	*testing.T
	rdb  *redis.Client
	keys luacall.Fair
	sub  *redis.PubSub
}

func newInRedis(t *testing.T, rdb *redis.Client, name string) *inRedis {
	in := func(what string) string { return what + ":{" + name + "}" }
	r := &inRedis{T: t, rdb: rdb, keys: luacall.Fair{
		Lock: name, Token: in("token"), Queue: in("queue"), Alive: in("alive"), State: in("state"),
		Client: in("client") + ":", Channel: in("strangers"),
		JavaQueue: in("java_queue"), JavaTimes: in("java_times"), JavaChannel: in("java") + ":",
	}}
	channels := []string{in("end")}
	for _, of := range clientsOfTwins {
		channels = append(channels, r.keys.Client+of)
	}
	r.sub = rdb.Subscribe(t.Context(), channels...)
	t.Cleanup(func() { _ = r.sub.Close() })
	r.confirmed(len(channels))
	return r
}

func (r *inRedis) confirmed(n int) {
	for range n {
		_, err := r.sub.Receive(r.Context())
		require.NoError(r, err)
	}
}

func sent[R any](r *inRedis, call *luacall.Call[R]) R {
	reply, err := call.Run(r.Context(), r.rdb)
	require.NoError(r, err)
	return reply
}

const always = 1 << 52 // a not-after

func (r *inRedis) acquire(ask store.Ask) store.AcquireReply {
	reply := sent(r, luacall.FairAcquire(r.keys, twinTimes, luacall.FairArgs{
		ID: ask.ID, Lease: ask.Lease.Milliseconds(), NotAfter: always, FenceTTL: -1, Ticket: ask.Ticket, Once: ask.Once,
	}))
	if reply.Foreign {
		reply.Also = r.keys.Channel
	}
	return reply.AcquireReply.AcquireReply
}

func (r *inRedis) enqueue(asks []store.Ask) store.EnqueueReply {
	places := make([]luacall.Place, len(asks))
	for i, ask := range asks {
		places[i] = luacall.Place{ID: ask.ID, Ticket: ask.Ticket}
	}
	return sent(r, luacall.FairEnqueue(r.keys, twinTimes, always, places)).EnqueueReply
}

func (r *inRedis) release(id string, served []string) store.ReleaseReply {
	return sent(r, luacall.FairRelease(r.keys, twinTimes, luacall.FairReleaseArgs{ID: id, Served: served})).ReleaseReply
}

func (r *inRedis) come(id string, lease time.Duration) store.Status {
	return sent(r, luacall.Acquire(luacall.AcquireArgs{
		Lock: r.keys.Lock, Token: r.keys.Token, ID: id, Lease: lease.Milliseconds(), NotAfter: always, FenceTTL: -1,
	})).Status
}

func (r *inRedis) leave(id string) store.ReleaseReply {
	return sent(r, luacall.Release(luacall.ReleaseArgs{Lock: r.keys.Lock, ID: id, Channel: r.keys.Channel})).ReleaseReply
}

func (r *inRedis) adopt(from, to string, lease time.Duration) store.Status {
	return sent(r, luacall.Adopt(luacall.AdoptArgs{
		Lock: r.keys.Lock, From: from, To: to, Lease: lease.Milliseconds(), NotAfter: always,
	})).Status
}

func (r *inRedis) nest(id string, from, to int64) int64 {
	return sent(r, luacall.Levels(r.keys.Lock, id, from, to))
}

func (r *inRedis) keep(id string, ttl time.Duration) bool {
	return sent(r, luacall.Renew([]string{r.keys.Lock}, []string{id}, []int64{ttl.Milliseconds()}))[0] == luacall.Renewed
}

func (r *inRedis) waiters() (ids []string) {
	for _, one := range sent(r, luacall.FairInspect(r.keys, twinTimes, false)).Queue {
		ids = append(ids, one.ID)
	}
	return ids
}

func (r *inRedis) age(ms int64) {
	if r.rdb.Exists(r.Context(), r.keys.State).Val() > 0 {
		require.NoError(r, r.rdb.HIncrBy(r.Context(), r.keys.State, "seen", -ms).Err())
		require.NoError(r, r.rdb.HIncrBy(r.Context(), r.keys.State, "ends", -ms).Err())
	}
}

func (r *inRedis) lose(part string) {
	key := map[string]string{
		"lock": r.keys.Lock, "queue": r.keys.Queue, "alive": r.keys.Alive, "record": r.keys.State,
	}[part]
	require.NoError(r, r.rdb.Del(r.Context(), key).Err())
}

func (r *inRedis) listen(strangers bool) {
	change := r.sub.Unsubscribe
	if strangers {
		change = r.sub.Subscribe
	}
	require.NoError(r, change(r.Context(), r.keys.Channel))
	r.confirmed(1)
}

func (r *inRedis) told() (who []string) {
	const end = "end"
	require.NoError(r, r.rdb.Publish(r.Context(), end+":{"+r.keys.Lock+"}", end).Err())
	for {
		message, err := r.sub.ReceiveMessage(r.Context())
		require.NoError(r, err)
		if message.Payload == end {
			slices.Sort(who)
			return who
		}
		who = append(who, message.Channel)
	}
}

func (r *inRedis) stands(named func(ticket int64) string) (text string, times []int64) {
	ctx := context.Background()
	var life [4]*redis.DurationCmd
	pipe := r.rdb.Pipeline()
	for i, key := range []string{r.keys.Lock, r.keys.Queue, r.keys.Alive, r.keys.State} {
		life[i] = pipe.PTTL(ctx, key)
	}
	lock, record := pipe.HGetAll(ctx, r.keys.Lock), pipe.HGetAll(ctx, r.keys.State)
	queue := pipe.ZRangeWithScores(ctx, r.keys.Queue, 0, -1)
	alive := pipe.ZRangeWithScores(ctx, r.keys.Alive, 0, -1)
	_, err := pipe.Exec(ctx)
	require.NoError(r, err)
	var b strings.Builder
	for _, field := range slices.Sorted(maps.Keys(lock.Val())) {
		fmt.Fprintf(&b, "%s=%s ", field, lock.Val()[field])
	}
	for _, p := range queue.Val() {
		fmt.Fprintf(&b, "%s at %s, ", p.Member, named(int64(p.Score)))
	}
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(record.Val()[field], 10, 64)
		return n
	}
	clock := number("clock")
	until := map[string]int64{}
	for _, z := range alive.Val() {
		until[z.Member.(string)] = int64(z.Score) - clock
	}
	for _, of := range slices.Sorted(maps.Keys(until)) {
		fmt.Fprintf(&b, "%s lives, ", of)
		times = append(times, until[of])
	}
	fmt.Fprintf(&b, "granted %s, lone %s", record.Val()["granted"], record.Val()["lone"])
	for _, one := range life {
		times = append(times, max(one.Val().Milliseconds(), 0))
	}
	for _, field := range []string{"out", "run", "buried"} {
		times = append(times, since(number(field), clock))
	}
	return b.String(), times
}

// since is how long before a time another one is, of which 0 is none.
func since(at, clock int64) int64 {
	if at == 0 {
		return 1 << 60
	}
	return clock - at
}
