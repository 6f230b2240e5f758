// Command account locks an account again and again in the process that works on it, nearly always without a request.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// account is the lock of one account. Keep leaves it with this process after the last unlock, for a second at most,
// and until another process wants it. A process that dies leaves what it kept to the lease, though no caller holds it:
// hence a short one. Keep pays where one process at a time works on an account, as with sessions or partitions.
func account(client *rlock.Client, id string) *rlock.Lock {
	return rlock.New(client, "recipe:account:"+id, rlock.Keep(time.Second), rlock.Lease(10*time.Second))
}

// deposit locks as ever: its context ends if the lock is lost, and each hold has a fencing token of its own.
func deposit(ctx context.Context, client *rlock.Client, id string, book func(ctx context.Context) error) error {
	return account(client, id).Do(ctx, book)
}

func main() {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	var requests atomic.Int64
	owner, err1 := rlock.NewClient(rdb, &rlock.ClientOptions{Observer: &rlock.Observer{
		Command: func(rlock.Command) { requests.Add(1) },
	}})
	other, err2 := rlock.NewClient(rdb, nil) // in another process
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	balance := 0
	book := func(context.Context) error { balance++; return nil }
	for range 1000 {
		if err := deposit(ctx, owner, "42", book); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("the other process need not wait for the lease:", deposit(ctx, other, "42", book))
	fmt.Println("the locks are released:", errors.Join(owner.Close(), other.Close()))
	fmt.Println(balance, "deposits; fewer than 100 requests for the first 1000:", requests.Load() < 100)
}
