// want: cannot use func() error

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// The function has to take the context that carries the hold.
func use(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func() error { return nil })
}
