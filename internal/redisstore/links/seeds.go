package links

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

const (
	// stagger is after how long the next seed is asked beside those that have not answered.
	stagger = 50 * time.Millisecond
	// refused is for how long nobody asks again after none of the seeds answered: go-redis tries one after the other.
	refused = 50 * time.Millisecond
)

// seeds are the addresses by which an application's client finds a cluster. Some may be out of date.
//
// Go-redis asks one after the other for the map of the slots, in any order, and waits for each as long as it takes to
// dial, to greet and to ask. So before the first map is there, all seeds are asked, each a moment after the one before,
// over connections of their own; go-redis then asks the one that answered first, and is told at once that the others do
// not. Seeds that the map names are no different from its other nodes from then on. When the one that answered fails,
// nothing is known any more.
//
// The mutex is taken alone. The goroutines are those of the race, which end with its time limit or with joined.
type seeds struct {
	addrs  []string
	limit  time.Duration // of the race
	kind   func(kind int32)
	joined joined
	race   singleflight.Group

	mu     sync.Mutex // guards all below
	node   *redis.Options
	winner string              // the seed that answered first; "": none is known
	stale  map[string]struct{} // the others that no map has named
	failed error               // of the last race that nobody won, or of the last winner that failed
	until  time.Time           // until when the error of a race is told without another one
}

var (
	errStaleSeed = errors.New("this address of the cluster has not answered, and another one has")
	errNoSlots   = errors.New("this server knows of no slots: it belongs to no cluster")
	errNoAddress = errors.New("the cluster tells its clients no addresses, which go-redis does not understand: " +
		"set cluster-preferred-endpoint-type to ip or hostname")
)

func newSeeds(addrs []string, limit time.Duration, kind func(int32)) *seeds {
	s := &seeds{addrs: addrs, limit: limit, kind: kind}
	s.joined.init()
	return s
}

// attach has a derived client, whose options these are, ask by the seeds.
func (s *seeds) attach(o *redis.ClusterOptions) {
	o.NewClient = func(node *redis.Options) *redis.Client {
		s.mu.Lock()
		if s.node == nil {
			one := *node
			one.PoolSize, one.PipelinePoolSize, one.MaxConcurrentDials = 1, -1, 1
			s.node = &one
		}
		s.mu.Unlock()
		c := redis.NewClient(node)
		c.AddHook(&mapHook{seeds: s, addr: node.Addr})
		return c
	}
}

// mapHook sees a node being asked for the map of the slots.
type mapHook struct {
	seeds *seeds
	addr  string
}

// DialHook implements [redis.Hook].
func (*mapHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (*mapHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements [redis.Hook].
func (h *mapHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		slots, ok := cmd.(*redis.ClusterSlotsCmd)
		if !ok {
			return next(ctx, cmd)
		}
		if err := h.seeds.admit(ctx, h.addr); err != nil {
			cmd.SetErr(err)
			return err
		}
		err := mapError(next(ctx, cmd))
		cmd.SetErr(err)
		h.seeds.asked(h.addr, slots.Val(), err)
		return err
	}
}

// admit returns why a node is not asked for the map. It waits for the race if no seed is known to answer.
func (s *seeds) admit(ctx context.Context, addr string) error {
	if err := s.find(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, stale := s.stale[addr]; stale {
		return errStaleSeed
	}
	return nil
}

// asked notes the map that a node told, or that it failed to.
func (s *seeds) asked(addr string, slots []redis.ClusterSlot, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if addr == s.winner {
			s.winner, s.stale, s.failed = "", nil, err
		}
		return
	}
	for _, slot := range slots {
		for _, node := range slot.Nodes {
			delete(s.stale, node.Addr)
		}
	}
}

// find waits until a seed is known to answer, for as long as ctx allows.
func (s *seeds) find(ctx context.Context) error {
	s.mu.Lock()
	winner, failed, until := s.winner, s.failed, s.until
	s.mu.Unlock()
	switch {
	case winner != "":
		return nil
	case time.Now().Before(until):
		return failed
	}
	answer := s.race.DoChan("", func() (any, error) {
		if !s.joined.begin() {
			return nil, net.ErrClosed
		}
		defer s.joined.running.Done()
		return nil, s.run()
	})
	_, err := await(ctx, answer)
	return err
}

// why is err, or what is behind it: go-redis returns the first error of all nodes that it tried.
func (s *seeds) why(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, errStaleSeed) && s.failed != nil {
		return s.failed
	}
	return err
}

// await waits for the answer to a question that goes on without its caller, and that others may have asked, too.
func await(ctx context.Context, answer <-chan singleflight.Result) (shared bool, err error) {
	var over <-chan time.Time
	if at, ok := ctx.Deadline(); ok {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case got := <-answer:
		return got.Shared, got.Err
	case <-ctx.Done():
		return false, ctx.Err()
	case <-over:
		return false, context.DeadlineExceeded
	}
}

// run asks the seeds, and records what came of it.
func (s *seeds) run() error {
	winner, err := s.first()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.winner, s.failed = winner, err
	if err != nil {
		s.until = time.Now().Add(refused)
		return err
	}
	s.stale = make(map[string]struct{}, len(s.addrs))
	for _, addr := range s.addrs {
		if addr != winner {
			s.stale[addr] = struct{}{}
		}
	}
	return nil
}

// first returns the seed that answers first, or the first error if none does.
//
// The goroutines are waited for. Those that lost end at once, since their clients are closed.
func (s *seeds) first() (winner string, err error) {
	ctx, cancel := context.WithTimeout(s.joined.ctx, s.limit)
	defer cancel()
	s.mu.Lock()
	node := *s.node
	s.mu.Unlock()
	answers := make(chan seedAnswer, len(s.addrs))
	next := time.NewTicker(stagger)
	defer next.Stop()
	var asking []*redis.Client
	defer func() {
		for _, c := range asking {
			_ = c.Close()
		}
	}()
	order := rand.Perm(len(s.addrs))
	ended := 0
	for {
		if n := len(asking); n < len(order) {
			one := node
			one.Addr = s.addrs[order[n]]
			c := guarded(redis.NewClient(&one))
			asking = append(asking, c)
			s.joined.run(func() { answers <- ask(ctx, c) })
		}
		select {
		case <-next.C:
			continue
		case got := <-answers:
			if ended++; got.err == nil {
				s.kind(got.kind)
				return got.addr, nil
			}
			if err == nil {
				err = got.err
			}
			if ended == len(order) {
				return "", err
			}
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return "", &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
	}
}

// seedAnswer is what came of asking a seed.
type seedAnswer struct {
	addr string
	kind int32
	err  error
}

// ask asks a seed for the map of the slots, and for how its messages are published.
func ask(ctx context.Context, c *redis.Client) seedAnswer {
	//lint:ignore SA1019 Redis 6.2 has no CLUSTER SHARDS
	slots, err := c.ClusterSlots(ctx).Result()
	a := seedAnswer{addr: c.Options().Addr, err: mapError(err)}
	switch {
	case err != nil:
	case len(slots) == 0:
		a.err = errNoSlots
	default:
		a.kind, a.err = kindOf(c.Do(ctx, "PUBSUB", "SHARDNUMSUB").Err())
	}
	return a
}

// mapError is the error of asking for the map of the slots. Where a node has no address, the server writes nil.
func mapError(err error) error {
	if errors.Is(err, redis.Nil) {
		return errNoAddress
	}
	return err
}

// kindOf is what the answer to PUBSUB SHARDNUMSUB says of a node.
func kindOf(err error) (int32, error) {
	switch {
	case err == nil:
		return kindSharded, nil
	case unknownCommand(err):
		return kindPlain, nil
	}
	return kindUnknown, err
}

// unknownCommand reports that a node lacks a command, or forbids it. All other errors mean that it cannot answer now.
func unknownCommand(err error) bool {
	var refused redis.Error
	return errors.As(err, &refused) && strings.HasPrefix(refused.Error(), "ERR ") ||
		redis.IsPermissionError(err)
}
