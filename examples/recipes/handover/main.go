// Command handover holds a lock from one HTTP request to a later one, which another replica may serve.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// begin locks a page for the user who asks for its form; answer 423 if the error is ErrBusy. The token in the form is
// the hold, so it belongs into no log. Redis keeps it for the client's lease, or a longer FixedLease: the time to edit.
func begin(r *http.Request, page *rlock.Lock) (token string, err error) {
	ctx, _, err := page.TryLock(r.Context()) // no unlock: Export ends the hold in this process, even if it fails
	if err != nil {
		return "", err
	}
	return page.Export(ctx)
}

// finish saves what the user sends. After ErrNotHeld nothing was saved, since another user may have edited the page: the
// time is over, or the form was sent twice. Answer 410, so that the user begins again.
func finish(r *http.Request, page *rlock.Lock, save func(ctx context.Context) error) (err error) {
	ctx, unlock, err := page.Import(r.Context(), r.Header.Get("Edit-Token"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return save(ctx)
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	for _, edit := range []time.Duration{5 * time.Minute, time.Second} {
		first, err1 := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: edit})
		second, err2 := rlock.NewClient(rdb, nil) // another replica
		if err := errors.Join(err1, err2); err != nil {
			log.Fatal(err)
		}
		token, err := begin(httptest.NewRequest(http.MethodGet, "/page", nil), rlock.New(first, "recipe:page"))
		fmt.Println("the form is shown:", err)
		time.Sleep(1500 * time.Millisecond) // the user edits
		for _, what := range []string{"saved:", "sent again:"} {
			sent := httptest.NewRequest(http.MethodPut, "/page", nil)
			sent.Header.Set("Edit-Token", token)
			err = finish(sent, rlock.New(second, "recipe:page"), func(context.Context) error { return nil })
			fmt.Println(what, err)
		}
		fmt.Println("closed:", errors.Join(first.Close(), second.Close()))
	}
}
