package strict

import (
	"context"
	"testing"

	"github.com/holdfast-go/holdfast/rlock"
)

func TestBusy(t *testing.T) {
	ctx := context.Background()
	lock := rlock.New(nil, "a")
	held, unlock, _ := lock.Lock(ctx) // want `the error of Lock is thrown away`
	lock.TryLock(ctx)                 // want `ctx is older than the hold: use held` `all that TryLock returned is thrown away`
	t.Log(held.Err(), unlock())
}
