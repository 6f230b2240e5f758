package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// Readers are in together; a writer is alone.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	reports := rwlock.New(client, "reports")

	err = reports.Read().Do(ctx, func(ctx context.Context) error {
		fmt.Println("reading")
		// Another reader, here or in another process, is let in; a writer is not.
		_, unlock, err := reports.Read().TryLock(context.Background())
		fmt.Println("another reader:", err)
		_, _, err = reports.Write().TryLock(context.Background())
		fmt.Println("a writer is kept out:", errors.Is(err, rlock.ErrBusy))
		return unlock()
	})
	if err != nil {
		fmt.Println(err)
	}
	err = reports.Write().Do(ctx, func(ctx context.Context) error {
		fmt.Println("writing")
		_, _, err := reports.Read().TryLock(context.Background())
		fmt.Println("a reader is kept out:", errors.Is(err, rlock.ErrBusy))
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// reading
	// another reader: <nil>
	// a writer is kept out: true
	// writing
	// a reader is kept out: true
}

// A writer reads on what it has written: it takes a read hold, unlocks the write hold, and nobody can have
// changed anything in between.
func ExampleLock_Read_downgrade() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	reports := rwlock.New(client, "reports")

	writing, unlock, err := reports.Write().Lock(context.Background())
	if err != nil {
		panic(err)
	}
	// The context of the read hold has to outlive that of the write hold, so it is not made a child of it.
	// The hold is in it all the same.
	reading, unread, err := reports.Read().Lock(context.WithoutCancel(writing))
	if err != nil {
		panic(err)
	}
	fmt.Println("written:", unlock())
	_, err = reports.Read().Held(reading)
	fmt.Println("reading on:", err == nil)
	fmt.Println("read:", unread())
	// Output:
	// written: <nil>
	// reading on: true
	// read: <nil>
}

// A caller that reads and wants to write has to stop reading first.
func ExampleLock_Write_upgrade() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	reports := rwlock.New(client, "reports")

	err = reports.Read().Do(context.Background(), func(ctx context.Context) error {
		return reports.Write().Do(ctx, func(context.Context) error { return nil })
	})
	fmt.Println(errors.Is(err, rwlock.ErrUpgrade))
	// Output: true
}
