// want: declared and not used: held

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// The work goes on with the older context: it would not learn of a loss, and a nested Lock would wait
// for itself.
func use(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	return errors(work(ctx), unlock())
}

func work(context.Context) error { return nil }

func errors(...error) error { return nil }
