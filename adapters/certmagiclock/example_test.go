package certmagiclock_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/caddyserver/certmagic"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/adapters/certmagiclock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Every process that serves a domain makes its storage like this.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	files := &certmagic.FileStorage{Path: "/mnt/certificates"} // or any other storage that all processes share
	storage := certmagiclock.New(files, func(name string) *rlock.Lock {
		return rlock.New(client, "certmagic:"+name)
	})
	certmagic.Default.Storage = storage // before certmagic.HTTPS, certmagic.TLS or certmagic.NewDefault

	// What certmagic does with it, while another goroutine or process wants the same.
	ctx := context.Background()
	fmt.Println(storage.Lock(ctx, "issue_cert_example.com"))
	fmt.Println(storage.TryLock(ctx, "issue_cert_example.com"))
	fmt.Println(storage.Unlock(ctx, "issue_cert_example.com"))
	// Output:
	// <nil>
	// false <nil>
	// <nil>
}
