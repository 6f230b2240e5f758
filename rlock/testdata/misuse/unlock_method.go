// want: lock.Unlock undefined

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// A fresh context holds nothing, so a method that takes one could not know what to unlock.
func use(ctx context.Context, lock *rlock.Lock) error {
	return lock.Unlock(ctx)
}
