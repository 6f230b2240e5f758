package semaphore

import (
	"fmt"
	"time"

	settings "github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/rlock"
)

// ExpireUnused makes a [Semaphore] vanish from Redis d after its last use: its capacity, and what a crash left. It is
// for names that are used for a while only, such as one for each tenant or job. Without it, Redis keeps a semaphore
// until [Semaphore.Delete].
//
// A use is a call of Acquire or TryAcquire, also one that is refused; each request of a call that waits; each renewal
// of permits that are held; Release; and a change of the capacity. Available, Capacity and Inspect are none. So the
// expiry never strikes permits that are held, nor a semaphore for which a caller waits. Calls of a user
// of Redis without the right to ZRANGE do not count as use: they cannot tell when the last lease ends.
//
// After the expiry there is no capacity: Acquire waits for one, TryAcquire returns [ErrNoCapacity]. So call
// [Semaphore.SetCapacityIfAbsent] before each Acquire that may come after a pause of d, and not only at the start of a
// process. Waiters listen on a channel, which needs no key: they hear of a capacity that is set again.
//
// D must be at least as long as the lease. Use the same option in all processes that use the name. The processes that
// lack it do not put the expiry off, and neither does Redisson; permits that they take after the last use of all others
// vanish with the semaphore, which they notice as they notice any other loss.
//
// A [Counting] semaphore cannot have this option: nobody can tell whether its permits are in use.
func ExpireUnused(d time.Duration) rlock.Option {
	return func(o *settings.Options) {
		switch {
		case o.Err != nil:
		case d < time.Millisecond || d > longestUnused:
			o.Err = &rlock.ArgumentError{
				Name: "ExpireUnused", Value: d, Problem: fmt.Sprintf("must be between 1ms and %v", longestUnused),
			}
		default:
			o.Unused = d
		}
	}
}

// longestUnused is ten years: who wants more wants no expiry.
const longestUnused = 10 * 365 * 24 * time.Hour

// checkUnused refuses an expiry that renewals would not put off in time.
func checkUnused(unused, lease time.Duration) error {
	if unused == 0 || unused >= lease {
		return nil
	}
	return &rlock.ArgumentError{
		Name: "ExpireUnused", Value: unused, Problem: fmt.Sprintf("must be at least the lease, %v, because the "+
			"renewals of held permits put the expiry off", lease),
	}
}
