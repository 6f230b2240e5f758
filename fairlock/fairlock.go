package fairlock

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/rlock"
)

// New returns a handle on the fair lock of that name. It is cheap and sends nothing. A bad name or option is
// an *rlock.ArgumentError from every call on the handle.
//
// Lock waits in the order of arrival among all processes that use fair locks. TryLock is refused with
// rlock.ErrBusy while any caller waits. Inspect tells all waiters, in every process; one that was just
// given the lock and has not come for it yet is a holder whose Count is 0. Break ends the hold and
// lets the next one in.
func New(client *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
	c := (*redisclient.Client)(client)
	p, err := newQueue(c, name)
	return c.Lock(p, opts, err)
}

func newQueue(client *redisclient.Client, name string) (*queue, error) {
	p := &queue{name: name, keys: luacall.Fair{Lock: name}}
	core, err := client.Core()
	if err != nil {
		return p, err
	}
	key, err := core.Key(name)
	if err != nil {
		return p, err
	}
	p.core, p.times = core, timesFor(core.MaxPoll)
	plain := keys.Channel(key)
	p.keys = luacall.Fair{
		Lock:   key,
		Token:  keys.Token(key),
		Queue:  keys.Own("fair_queue", key),
		Alive:  keys.Own("fair_alive", key),
		State:  keys.Own("fair_state", key),
		Client: keys.Own("fair", key) + ":",

		Channel:     plain,
		JavaQueue:   keys.Prefix("redisson_lock_queue", key),
		JavaTimes:   keys.Prefix("redisson_lock_timeout", key),
		JavaChannel: plain + ":",
	}
	return p, core.CheckSlot(key, p.keys.Token, p.keys.Queue, p.keys.Client)
}

// timesFor are the times of a queue whose clients ask every poll.
func timesFor(poll time.Duration) luacall.FairTimes {
	// After a stop of the server, clients are heard of within half a second or a poll.
	unit := max(poll, 500*time.Millisecond)
	t := luacall.FairTimes{
		Life: (4 * unit).Milliseconds(),
		Step: unit.Milliseconds(),
		// Whose message was lost is to come with its next question.
		Grant:   (time.Second + min(poll, 2*time.Second)).Milliseconds(),
		Restore: (time.Second + min(poll, 4*time.Second)).Milliseconds(),
		Run:     time.Second.Milliseconds(),
		Pause:   (50 * time.Millisecond).Milliseconds(),
	}
	t.Unused = t.Life + (10 * time.Minute).Milliseconds()
	return t
}
