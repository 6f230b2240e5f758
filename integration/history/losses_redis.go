package history

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// redisLosses make Redis forget: holds, tokens, or all data.
var redisLosses = []fault{
	{"lock deleted", losing(deletion(false, lockKey))},
	{"token deleted", losing(deletion(true, tokenKey))},
	{"lock and token deleted", losing(deletion(false, lockKey, tokenKey))},
	{"all keys flushed", losing(flush)},
	{"all keys evicted", losing(evict)},
	{"server restarted empty", losing(restart)},
}

func lockKey(name string) string  { return name }
func tokenKey(name string) string { return keys.Token(name) }

// losing records which holds were lost, and when. Do returns the name whose hold is lost, "" for those of all names;
// and false if none is.
func losing(do func(*run, *rand.Rand) (name string, lost bool, err error)) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		from := stamp.Now()
		name, lost, err := do(r, random)
		if err != nil {
			r.fail(err)
		}
		if lost {
			r.record.lost(Loss{Name: name, From: from, Until: stamp.Now(), Certain: true})
		}
		return 1
	}
}

// deletion deletes keys of one name, like an administrator or an eviction of just these. Holds that lost only their
// token are not lost.
func deletion(
	harmless bool, of ...func(string) string,
) func(*run, *rand.Rand) (string, bool, error) {
	return func(r *run, random *rand.Rand) (string, bool, error) {
		name := names[random.IntN(len(names))]
		var all []string
		for _, key := range of {
			all = append(all, key(name))
		}
		return name, !harmless, r.redis().admins[0].Del(context.Background(), all...).Err()
	}
}

func flush(r *run, _ *rand.Rand) (string, bool, error) {
	return "", true, r.redis().admins[0].FlushAll(context.Background()).Err()
}

// evict leaves the server no memory until it has evicted every key with an expiry, which locks and tokens have.
func evict(r *run, _ *rand.Rand) (string, bool, error) {
	ctx, admin := context.Background(), r.redis().admins[0]
	var left []string
	err := errors.Join(
		admin.ConfigSet(ctx, "maxmemory-policy", "volatile-ttl").Err(),
		admin.ConfigSet(ctx, "maxmemory", "1").Err())
	if err == nil {
		left, err = r.gone(settle, func() ([]string, error) {
			_ = admin.Set(ctx, "new", "1", 0).Err() // a write makes Redis look for room; it finds none for this one
			return r.redis().keys(), nil
		})
	}
	return "", true, errors.Join(within(err, "keys", left), admin.ConfigSet(ctx, "maxmemory", "0").Err())
}

// restart kills the server, which keeps nothing on disk, and starts it again.
func restart(r *run, _ *rand.Rand) (string, bool, error) {
	r.redis().servers[0].Kill()
	r.redis().servers[0].Restart()
	return "", true, nil
}
