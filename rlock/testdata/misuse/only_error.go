// want: assignment mismatch: 1 variable but lock.Lock returns 3 values

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// As with locks that are unlocked by a method.
func use(ctx context.Context, lock *rlock.Lock) error {
	err := lock.Lock(ctx)
	return err
}
