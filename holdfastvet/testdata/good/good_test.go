package good

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast/rlock"
)

// A test asks as a stranger whether the lock is held.
func TestBusy(t *testing.T) {
	ctx := context.Background()
	lock := rlock.New(nil, "a")
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		t.Skip(err)
	}
	if _, _, err := lock.TryLock(ctx); !errors.Is(err, rlock.ErrBusy) {
		t.Error(err, held.Err())
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}
