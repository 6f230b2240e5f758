// want: assignment mismatch: 2 variables but lock.TryLock returns 3 values

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// "Not taken" and "not known" are different things, and no bool distinguishes them.
func use(ctx context.Context, lock *rlock.Lock) error {
	ok, err := lock.TryLock(ctx)
	if !ok {
		return err
	}
	return nil
}
