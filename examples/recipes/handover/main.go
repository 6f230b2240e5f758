// Command handover holds a lock from one HTTP request to a later one, which another replica may serve.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// begin serves the request for a form, by the context of the request. If the error is ErrBusy, answer 423. The token
// goes into the form; it is the hold, so it belongs into no log. No process holds the lock meanwhile: Redis keeps it
// for the client's lease, or for a longer FixedLease, and that is the time to edit.
func begin(ctx context.Context, page *rlock.Lock, load func(ctx context.Context) error) (token string, err error) {
	ctx, unlock, err := page.TryLock(ctx)
	if err != nil {
		return "", err
	}
	if err := load(ctx); err != nil {
		return "", errors.Join(err, unlock())
	}
	return page.Export(ctx) // nothing is left to unlock, even if this fails
}

// finish serves the request that sends the form. After ErrNotHeld nothing was saved, since another user may have
// edited the page: the time was over, or the form was sent twice. Answer 410, so that the user begins again.
func finish(ctx context.Context, page *rlock.Lock, token string, save func(ctx context.Context) error) (err error) {
	ctx, unlock, err := page.Import(ctx, token)
	if err != nil {
		return err
	}
	defer func() { err = rlock.Join(err, unlock()) }()
	return save(ctx)
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	nothing := func(context.Context) error { return nil }
	for _, edit := range []time.Duration{5 * time.Minute, time.Second} {
		first, err1 := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: edit})
		second, err2 := rlock.NewClient(rdb, nil) // another replica
		if err := errors.Join(err1, err2); err != nil {
			log.Fatal(err)
		}
		token, err := begin(context.Background(), rlock.New(first, "recipe:page"), nothing)
		fmt.Println("the form is shown:", err)
		time.Sleep(1500 * time.Millisecond) // the user edits
		fmt.Println("saved:", finish(context.Background(), rlock.New(second, "recipe:page"), token, nothing))
		fmt.Println("sent twice:", finish(context.Background(), rlock.New(second, "recipe:page"), token, nothing))
		fmt.Println("closed:", errors.Join(first.Close(), second.Close()))
	}
}
