// want: compiles

// Package misuse holds one program for each way to use a lock wrongly that the compiler notices.
package misuse

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

func use(ctx context.Context, lock *rlock.Lock) (err error) {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = unlock() }()
	return work(ctx)
}

func work(context.Context) error { return nil }
