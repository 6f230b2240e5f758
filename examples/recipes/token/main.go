// Command token refreshes an OAuth token once for all replicas, which read it from one place.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

const key = "recipe:oauth" // the token of all replicas: a hash in Redis, without expiry, or a row of your database

// renew returns a token for one that the API has refused. Every replica may call it at the same time.
func renew(ctx context.Context, rdb *redis.Client, client *rlock.Client, refused string) (access string, err error) {
	lock := rlock.New(client, key+":lock", rlock.Grace(10*time.Second))
	err = lock.Do(ctx, func(ctx context.Context) error {
		t, err := rdb.HGetAll(ctx, key).Result() // again, under the lock: another replica may have refreshed it by now
		if access = t["access"]; err != nil || access != refused {
			return err
		}
		// The provider rotates refresh tokens: it takes a second use of one for a theft, and revokes everything. So
		// nothing may cut this off, or the only good token is lost with the reply. Grace ends ctx ten seconds before
		// another replica can have the lock; that is enough for the five that this takes at most.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		access, t["refresh"], err = refresh(ctx, t["refresh"])
		if err != nil {
			return err
		}
		return rdb.HSet(ctx, key, "access", access, "refresh", t["refresh"]).Err()
	})
	return access, err
}

func refresh(_ context.Context, old string) (access, next string, err error) { // asks the provider
	fmt.Println("the provider is given", old)
	return "access 2", "refresh 2", nil
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	rdb.HSet(context.Background(), key, "access", "access 1", "refresh", "refresh 1")
	var replicas sync.WaitGroup
	for range 3 {
		client, err := rlock.NewClient(rdb, nil) // one per process
		if err != nil {
			log.Fatal(err)
		}
		defer client.Close()
		replicas.Go(func() { fmt.Println(renew(context.Background(), rdb, client, "access 1")) })
	}
	replicas.Wait()
}
