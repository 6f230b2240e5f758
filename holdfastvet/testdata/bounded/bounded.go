// Package bounded names MaxHold, which bounds holds whose holder is stuck, and replaces no unlock.
package bounded

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
)

type orders struct{ lock *rlock.Lock }

func newOrders(client *rlock.Client) orders {
	return orders{rlock.New(client, "order", rlock.MaxHold(time.Minute))}
}

func (o orders) ship(ctx context.Context, work func(context.Context) error, dry bool) error {
	held, unlock, err := o.lock.Lock(ctx)
	if err != nil {
		return err
	}
	if dry {
		return work(held) // want `unlock is not called on this way out: the lock stays held until its MaxHold`
	}
	return rlock.Join(work(held), unlock())
}
