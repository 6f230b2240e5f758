package listing

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
)

// Source is where to look.
type Source struct {
	Client  redis.UniversalClient
	Within  func(ctx context.Context) context.Context // with the time limit of a command
	Sharded func(ctx context.Context) (bool, error)   // how releases are published
}

// batch is how many keys one step of SCAN walks, and how many channels or names are looked at together.
const batch = 500

// nodes returns the clients of all servers that have keys.
func (s *Source) nodes(ctx context.Context) (all []*redis.Client, err error) {
	cluster, ok := s.Client.(*redis.ClusterClient)
	if !ok {
		return []*redis.Client{s.Client.(*redis.Client)}, nil
	}
	var mu sync.Mutex
	err = cluster.ForEachMaster(s.Within(ctx), func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, node)
		return nil
	})
	return all, err
}

// nodeOf returns the client of the server that has a key.
func (s *Source) nodeOf(ctx context.Context, key string) (*redis.Client, error) {
	if cluster, ok := s.Client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(s.Within(ctx), key)
	}
	return s.Client.(*redis.Client), nil
}

// scan walks the keys of one server that match a pattern, some hundred at a time. It stops if told to.
func (s *Source) scan(
	ctx context.Context, node *redis.Client, pattern string, some func(keys []string) (more bool),
) (more bool, err error) {
	for cursor := uint64(0); ; {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		keys, next, err := node.Scan(s.Within(ctx), cursor, pattern, batch).Result()
		if err != nil {
			return false, err
		}
		if len(keys) > 0 && !some(keys) {
			return false, nil
		}
		if cursor = next; cursor == 0 {
			return true, nil
		}
	}
}

// List tells every lock whose name matches a pattern, each once, until yield returns false. Of a server that cannot be
// asked it tells the error, and goes on with the next one.
func (s *Source) List(ctx context.Context, pattern string, yield func(Entry, error) bool) {
	l := &lister{Source: s, pattern: pattern, yield: yield}
	if name, only := Literal(pattern); only {
		l.one(ctx, name)
		return
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		yield(Entry{}, err)
		return
	}
	for _, node := range nodes {
		if !l.node(ctx, node) {
			return
		}
	}
}

// lister is one listing.
type lister struct {
	*Source
	pattern string
	yield   func(Entry, error) bool
	told    seen
}

// one tells one name, without a scan.
func (l *lister) one(ctx context.Context, name string) {
	node, err := l.nodeOf(ctx, name)
	if err != nil {
		l.yield(Entry{}, err)
		return
	}
	is, err := l.listeners(ctx, node, name)
	if err != nil {
		l.yield(Entry{}, err)
		return
	}
	is |= ofKey | ofLeases | ofRequest | ofFair | ofToken
	l.look(ctx, node, map[string]evidence{name: is})
}

// listeners asks of which kinds of locks somebody waits for the name. It may be forbidden to say.
func (l *lister) listeners(ctx context.Context, node *redis.Client, name string) (is evidence, err error) {
	sharded, err := l.Sharded(l.Within(ctx))
	if err != nil {
		return 0, err
	}
	count := node.PubSubNumSub
	if sharded {
		count = node.PubSubShardNumSub
	}
	of := map[string]evidence{
		keys.Prefix(rwChannel, name): ofRWChannel, keys.Prefix(permitChannel, name): ofPermitChannel,
		latchChannel + "{" + name + "}": ofLatchChannel, keys.Prefix(lockChannel, name): ofLockChannel,
	}
	for channel, kind := range of {
		heard, err := count(l.Within(ctx), channel).Result()
		if fatal(err) != nil && !redis.IsPermissionError(err) {
			return 0, err
		}
		if heard[channel] > 0 {
			is |= kind
		}
	}
	return is, nil
}

// node tells the names of one server: those with keys, and then those that are only waited for.
func (l *lister) node(ctx context.Context, node *redis.Client) (more bool) {
	more, err := l.scan(ctx, node, around(l.pattern), func(keys []string) bool {
		found := make(map[string]evidence)
		for _, key := range keys {
			l.add(found, key, named)
		}
		return l.look(ctx, node, found)
	})
	if err != nil {
		return l.yield(Entry{}, err)
	}
	return more && l.waited(ctx, node)
}

// waited tells the names of which somebody waits at this server.
func (l *lister) waited(ctx context.Context, node *redis.Client) (more bool) {
	sharded, err := l.Sharded(l.Within(ctx))
	if err != nil {
		return l.yield(Entry{}, err)
	}
	command := "CHANNELS"
	if sharded {
		command = "SHARDCHANNELS"
	}
	found := make(map[string]evidence)
	for _, c := range channels {
		names, err := node.Do(l.Within(ctx), "PUBSUB", command, c.prefix+around(l.pattern)).StringSlice()
		if fatal(err) != nil && !redis.IsPermissionError(err) {
			return l.yield(Entry{}, err)
		}
		for _, name := range names {
			l.add(found, name, waitedFor)
		}
	}
	for len(found) > 0 {
		some := make(map[string]evidence)
		for name, is := range found {
			some[name] = is
			delete(found, name)
			if len(some) == batch {
				break
			}
		}
		if !l.look(ctx, node, some) {
			return false
		}
	}
	return true
}

// add notes the name that a key or channel speaks for, if it is asked for and was not told yet.
func (l *lister) add(found map[string]evidence, text string, sort func(string) (string, evidence)) {
	name, is := sort(text)
	if is != 0 && Match(l.pattern, name) && !l.told.has(name) {
		found[name] |= is
	}
}

// seen remembers names by their hashes: at least the last half million.
type seen struct {
	seed       maphash.Seed
	young, old map[uint64]struct{}
}

const generation = 500_000

func (s *seen) has(name string) bool {
	if s.young == nil {
		return false
	}
	at := maphash.String(s.seed, name)
	_, young := s.young[at]
	_, old := s.old[at]
	return young || old
}

func (s *seen) add(name string) {
	if s.young == nil {
		s.seed, s.young = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	if len(s.young) >= generation {
		s.old, s.young = s.young, make(map[uint64]struct{})
	}
	s.young[maphash.String(s.seed, name)] = struct{}{}
}
