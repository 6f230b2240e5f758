package multilock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// The main path: the function runs with all of the locks held, or not at all.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	transfer := multilock.New([]*rlock.Lock{
		rlock.New(client, "account:17"),
		rlock.New(client, "account:42"),
	})
	err = transfer.Do(context.Background(), func(context.Context) error {
		fmt.Println("moving money from account 17 to account 42")
		return nil
	})
	fmt.Println(err)
	// Output:
	// moving money from account 17 to account 42
	// <nil>
}

// If one of the locks is busy, none is taken: the others stay free for callers that need only them.
func ExampleLock_TryLock() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	first, second := rlock.New(client, "account:17"), rlock.New(client, "account:42")

	_, unlock, err := second.Lock(context.Background())
	fmt.Println(err)
	_, _, err = multilock.New([]*rlock.Lock{first, second}).TryLock(context.Background())
	fmt.Println(errors.Is(err, rlock.ErrBusy), err)
	err = first.Do(context.Background(), func(context.Context) error {
		fmt.Println("account 17 is free")
		return nil
	})
	fmt.Println(err, unlock())
	// Output:
	// <nil>
	// true holdfast: lock "account:42" is held by another caller
	// account 17 is free
	// <nil> <nil>
}

// The context carries every hold, so code that locks one of the names for itself can be called inside.
func ExampleLock_Lock() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	first, second := rlock.New(client, "account:17"), rlock.New(client, "account:42")
	both := multilock.New([]*rlock.Lock{first, second})

	deposit := func(ctx context.Context, account *rlock.Lock) error {
		return account.Do(ctx, func(ctx context.Context) error {
			hold, err := account.Held(ctx)
			fmt.Println(account.Name(), "is locked", hold.Count, "times")
			return err
		})
	}
	ctx, unlock, err := both.Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Join(deposit(ctx, first), deposit(ctx, second)))
	fmt.Println(unlock())
	fmt.Println(context.Cause(ctx))
	// Output:
	// account:17 is locked 2 times
	// account:42 is locked 2 times
	// <nil>
	// <nil>
	// holdfast: the lock was released
}

// Each lock has a fencing token of its own, for the storage that it guards.
func ExampleLock_Held() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	both := multilock.New([]*rlock.Lock{
		rlock.New(client, "account:17"),
		rlock.New(client, "account:42"),
	})

	err = both.Do(context.Background(), func(ctx context.Context) error {
		holds, err := both.Held(ctx)
		for i, name := range both.Names() {
			fmt.Println(name, "has a token:", holds[i].Fence > 0)
		}
		return err
	})
	fmt.Println(err)
	_, err = both.Held(context.Background())
	fmt.Println(err)
	// Output:
	// account:17 has a token: true
	// account:42 has a token: true
	// <nil>
	// holdfast: lock "account:17" is not held
}

// The loss of one lock ends the hold of all, says which it was, and frees the others.
func ExampleLock_Lock_lost() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	first, second := rlock.New(client, "account:17"), rlock.New(client, "account:42")

	ctx, unlock, err := multilock.New([]*rlock.Lock{first, second}).Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(second.Break(context.Background())) // an operator takes one of them away
	<-ctx.Done()
	var lost *rlock.LostError
	fmt.Println(errors.As(context.Cause(ctx), &lost), lost.Name)
	fmt.Println(errors.Is(unlock(), rlock.ErrLost))
	err = first.Do(context.Background(), func(context.Context) error { return nil })
	fmt.Println(err)
	// Output:
	// <nil>
	// true account:42
	// true
	// <nil>
}

// Nothing, and one thing twice, are mistakes that every call tells.
func ExampleNew() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_, _, err = multilock.New(nil).Lock(context.Background())
	fmt.Println(err)
	_, _, err = multilock.New([]*rlock.Lock{
		rlock.New(client, "account:17"), rlock.New(client, "account:17"),
	}).Lock(context.Background())
	fmt.Println(err)
	// Output:
	// holdfast: locks must not be empty
	// holdfast: locks[1] is a duplicate of locks[0], "account:17"
}
