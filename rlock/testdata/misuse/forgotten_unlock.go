// want: declared and not used: unlock

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// The way most locks are forgotten: everything is there but the unlock.
func use(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	return work(ctx)
}

func work(context.Context) error { return nil }
