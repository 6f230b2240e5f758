// want: too many arguments in call to check

package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// What Lock returns is not an error that could be passed on.
func use(ctx context.Context, lock *rlock.Lock) error {
	return check(lock.Lock(ctx))
}

func check(error) error { return nil }
