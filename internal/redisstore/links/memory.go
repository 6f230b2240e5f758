package links

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// memory finds out, once, whether a server evicts locks when its memory is full. It asks on the first connection for
// renewals: that one is made for a hold that has lasted, nobody waits for it, and no request of a first Lock takes
// longer for it. If the server refuses to answer, memory gives up.
//
// If two connections are made at the same time, the swap of asked lets one of them ask. After a failure the
// next connection asks again.
type memory struct {
	asked atomic.Bool
	told  atomic.Pointer[func(policy string)]
}

// OnEvicting sets a function that is called once with the policy by which a server evicts locks when it is full.
func (l *Links) OnEvicting(fn func(policy string)) { l.memory.told.Store(&fn) }

// connected is called with a new connection.
type connected = func(ctx context.Context, conn *redis.Conn) error

// look asks the question on a new connection.
func (m *memory) look(ctx context.Context, conn *redis.Conn) error {
	told := m.told.Load()
	if told == nil || m.asked.Swap(true) {
		return nil
	}
	info, err := conn.Info(ctx, "memory").Result()
	if refused := redis.Error(nil); errors.As(err, &refused) {
		return nil
	}
	if err != nil {
		m.asked.Store(false)
		return err // the reply may still arrive, so the connection is unusable
	}
	policy, limited := "", false
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "maxmemory_policy":
			policy = value
		case "maxmemory":
			limited = value != "0"
		}
	}
	if limited && policy != "" && policy != "noeviction" {
		(*told)(policy)
	}
	return nil
}
