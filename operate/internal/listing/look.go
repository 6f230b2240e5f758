package listing

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
)

// looked is a name with what was read of it so far.
type looked struct {
	Entry
	is evidence

	kind    *redis.StatusCmd
	size    *redis.IntCmd
	mode    *redis.BoolCmd
	sample  *redis.StringSliceCmd
	pttl    *redis.DurationCmd
	token   *redis.StringCmd
	fields  *redis.KeyValueSliceCmd
	number  *redis.StringCmd
	leases  *redis.ZSliceCmd
	leased  *redis.IntCmd
	queued  []*redis.IntCmd
	readers map[string][]*redis.DurationCmd
	heard   *redis.MapStringIntCmd
}

// fatal is the part of a command's error that is not about one key.
func fatal(err error) error {
	if err == nil || errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "WRONGTYPE") ||
		redis.HasErrorPrefix(err, "ERR unknown subcommand") || redis.HasErrorPrefix(err, "ERR Unknown") {
		return nil
	}
	return err
}

// look tells the locks among some names.
func (l *lister) look(ctx context.Context, node *redis.Client, found map[string]evidence) (more bool) {
	all := make([]*looked, 0, len(found))
	for name, is := range found {
		all = append(all, &looked{Entry: Entry{Name: name, Kind: Unknown, Waiters: -1}, is: is})
	}
	// In a fixed order, so that two listings of the same locks look alike.
	slices.SortFunc(all, func(a, b *looked) int { return strings.Compare(a.Name, b.Name) })
	err := l.examine(ctx, node, &all)
	if err != nil {
		return l.yield(Entry{}, err)
	}
	for _, e := range all {
		l.told.add(e.Name)
		if !l.yield(e.Entry, nil) {
			return false
		}
	}
	return true
}

// examine drops those that are no locks, and reads what is to be listed of the others.
func (l *lister) examine(ctx context.Context, node *redis.Client, all *[]*looked) error {
	var now time.Time
	for _, step := range []func() error{
		func() error { return l.types(ctx, *all, &now) },
		func() error { *all = slices.DeleteFunc(*all, (*looked).unlikely); return l.shapes(ctx, *all) },
		func() error { *all = slices.DeleteFunc(*all, (*looked).foreign); return l.details(ctx, *all, now) },
		func() error { return l.readersOf(ctx, *all) },
		func() error { return l.heard(ctx, node, *all) },
	} {
		if len(*all) == 0 {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
	}
	for _, e := range *all {
		e.settle(now)
	}
	*all = slices.DeleteFunc(*all, (*looked).nothing)
	return l.owners(ctx, *all)
}

// pipeline sends what fill queues, and returns the first error that is not about one key.
func (l *lister) pipeline(ctx context.Context, fill func(pipe redis.Pipeliner)) error {
	pipe := l.Client.Pipeline()
	fill(pipe)
	if pipe.Len() == 0 {
		return nil
	}
	cmds, err := pipe.Exec(l.Within(ctx))
	for _, cmd := range cmds {
		if err := fatal(cmd.Err()); err != nil {
			return err
		}
	}
	return fatal(err)
}

// types asks what is at the names, and what time it is.
func (l *lister) types(ctx context.Context, all []*looked, now *time.Time) error {
	var clock *redis.TimeCmd
	err := l.pipeline(ctx, func(pipe redis.Pipeliner) {
		clock = pipe.Time(ctx)
		for _, e := range all {
			e.kind = pipe.Type(ctx, e.Name)
		}
	})
	*now = clock.Val()
	return err
}

// unlikely reports that something else stands at the name: an application's key.
func (e *looked) unlikely() bool {
	switch e.kind.Val() {
	case "hash":
		return false
	case "string":
		return e.is&(ofLeases|ofRequest|ofPermitChannel|ofLatchChannel) == 0
	case "none":
		return e.is == ofKey // gone in the meantime
	}
	return true
}

// shapes reads just enough of each hash to see whether it is a lock.
func (l *lister) shapes(ctx context.Context, all []*looked) error {
	return l.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, e := range all {
			if e.kind.Val() == "hash" {
				e.size, e.mode = pipe.HLen(ctx, e.Name), pipe.HExists(ctx, e.Name, "mode")
				e.sample = pipe.HRandField(ctx, e.Name, 4)
			}
		}
	})
}

// foreign reports that the hash is no lock.
func (e *looked) foreign() bool {
	if e.size == nil {
		return false
	}
	for _, field := range e.sample.Val() {
		if field != "mode" && !holdID.MatchString(field) {
			return true
		}
	}
	return len(e.sample.Val()) == 0 || !e.mode.Val() && e.size.Val() > 2
}

// details reads what is to be listed of each lock.
func (l *lister) details(ctx context.Context, all []*looked, now time.Time) error {
	after := "(" + strconv.FormatInt(now.UnixMilli(), 10)
	return l.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, e := range all {
			e.token = pipe.Get(ctx, keys.Token(e.Name))
			if e.is&ofFair != 0 || e.size != nil {
				e.queued = []*redis.IntCmd{
					pipe.ZCard(ctx, keys.Own("fair_queue", e.Name)), pipe.LLen(ctx, keys.Prefix(javaQueue, e.Name)),
					pipe.Exists(ctx, keys.Own("fair_state", e.Name)),
				}
			}
			if e.size != nil {
				e.pttl = pipe.PTTL(ctx, e.Name)
				e.fields = pipe.HRandFieldWithValues(ctx, e.Name, maxHolders)
				continue
			}
			if e.is&(ofLeases|ofRequest|ofPermitChannel|ofLatchChannel) == 0 {
				continue
			}
			e.number = pipe.Get(ctx, e.Name)
			leases := keys.Suffix(e.Name, strings.TrimPrefix(leasesSuffix, ":"))
			e.leased = pipe.ZCount(ctx, leases, after, "+inf")
			e.leases = pipe.ZRangeByScoreWithScores(ctx, leases,
				&redis.ZRangeBy{Min: after, Max: "+inf", Count: maxHolders})
		}
	})
}

// maxLevels is how many levels of a reader are asked for their leases.
const maxLevels = 8

// readersOf asks how long each reader lives.
func (l *lister) readersOf(ctx context.Context, all []*looked) error {
	return l.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, e := range all {
			if e.size == nil || !e.mode.Val() {
				continue
			}
			e.readers = make(map[string][]*redis.DurationCmd)
			for _, f := range e.fields.Val() {
				if f.Key == "mode" || strings.HasSuffix(f.Key, ":write") {
					continue
				}
				for n := range min(levels(f.Value), maxLevels) {
					hold := keys.Suffix(e.Name, f.Key+":rwlock_timeout:"+strconv.FormatInt(n+1, 10))
					e.readers[f.Key] = append(e.readers[f.Key], pipe.PTTL(ctx, hold))
				}
			}
		}
	})
}

// levels is the count of a hold, behind which a nested writer's has a number.
func levels(value string) int64 {
	count, _, _ := strings.Cut(value, ":")
	n, _ := strconv.ParseInt(count, 10, 64)
	return max(n, 0)
}

// heard asks how many listen to the channels, at the server that has the names. It may be forbidden to say.
func (l *lister) heard(ctx context.Context, node *redis.Client, all []*looked) error {
	sharded, err := l.Sharded(l.Within(ctx))
	if err != nil {
		return err
	}
	pipe := node.Pipeline()
	for _, e := range all {
		for _, channel := range e.listened() {
			if sharded {
				e.heard = pipe.PubSubShardNumSub(ctx, channel)
			} else {
				e.heard = pipe.PubSubNumSub(ctx, channel)
			}
		}
	}
	if pipe.Len() > 0 {
		_, _ = pipe.Exec(l.Within(ctx))
	}
	return nil
}

// listened is the channel on which waiters of such a lock listen; none for a fair one, which has a queue.
func (e *looked) listened() []string {
	switch {
	case e.fair():
		return nil
	case e.size != nil && e.mode.Val(), e.is&ofRWChannel != 0:
		return []string{keys.Prefix(rwChannel, e.Name)}
	case e.is&ofLatchChannel != 0:
		return []string{latchChannel + "{" + e.Name + "}"}
	case e.number != nil && e.size == nil && (e.number.Err() == nil || e.is&ofPermitChannel != 0):
		return []string{keys.Prefix(permitChannel, e.Name)}
	}
	return []string{keys.Prefix(lockChannel, e.Name)}
}

// fair reports that there is something of a fair lock.
func (e *looked) fair() bool {
	return slices.ContainsFunc(e.queued, func(c *redis.IntCmd) bool { return c.Val() > 0 })
}
