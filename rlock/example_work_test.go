package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// bill has a customer pay under the lock of the order, and says what came of it.
func bill(ctx context.Context, order *rlock.Lock, pay func(context.Context) error) (answer string) {
	err := order.Do(ctx, pay)
	var work *rlock.WorkError
	switch {
	case err == nil:
		return "paid"
	case !errors.As(err, &work): // pay was not called
		switch {
		case errors.Is(err, rlock.ErrBusy):
			return "not paid: another caller works on the order"
		case errors.Is(err, rlock.ErrUnavailable):
			return "not paid: nobody knows who works on the order, try later"
		}
		return "not paid: " + err.Error() // ctx was over, the client is closed, a mistake in the call
	case errors.Is(work.Hold, rlock.ErrLost), errors.Is(work.Hold, rlock.ErrClosed):
		return "look whether it was paid, and by whom: the lock was held until some moment before pay returned"
	case work.Err != nil:
		return "not paid: " + work.Err.Error() // whatever it matches, it is the work's own
	}
	return "paid" // work.Hold is a *ReleaseError: others may have to wait until its Until
}

// A switch over the error of Do. What the work returned is never taken for what the lock says: here, that another lock
// is busy.
func ExampleWorkError() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, order, account := context.Background(), rlock.New(client, "order:1001"), rlock.New(client, "account:17")

	fmt.Println(bill(ctx, order, func(context.Context) error { return nil }))
	fmt.Println(bill(ctx, order, func(context.Context) error { return errors.New("card declined") }))
	fmt.Println(account.Do(ctx, func(context.Context) error { // a caller that does not pass its context on
		fmt.Println(bill(ctx, order, func(ctx context.Context) error {
			_, _, err := account.TryLock(ctx)
			return err
		}))
		return nil
	}))
	// Output:
	// paid
	// not paid: card declined
	// not paid: holdfast: lock "account:17" is held by another caller
	// <nil>
}
