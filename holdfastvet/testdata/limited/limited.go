// Package limited has holds that end by themselves, which need no unlock.
package limited

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
)

func onceAnHour(ctx context.Context, client *rlock.Client, work func(context.Context) error) error {
	held, _, err := rlock.New(client, "report", rlock.FixedLease(time.Hour)).TryLock(ctx)
	if err != nil {
		return err
	}
	return work(held)
}
