// want: too many arguments in call to unlock

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// The release must not die with the context of the caller.
func use(ctx context.Context, lock *rlock.Lock) error {
	_, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	return unlock(ctx)
}
