package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
)

// processOrders are what a process of the tests below is told.
type processOrders struct {
	Addr, Name string
	Lease      time.Duration
}

// client makes the client that was ordered.
func (o processOrders) client(observer *rlock.Observer) *rlock.Client {
	client, err := rlock.NewClient(redis.NewClient(&redis.Options{Addr: o.Addr}), &rlock.ClientOptions{
		Lease: o.Lease, Observer: observer, Logger: slog.New(slog.DiscardHandler),
	})
	role.Check(err)
	return client
}

// processHolder is a process that takes the lock, says "held", and then does what it is told:
//
//	held     says what Held answers: the fencing token, or the error
//	context  waits for the end of the hold's context and says its cause
//	renewed  waits for two renewals that began after this line and says "renewed"
//	losses   says how many losses it heard of
//	unlock   says what unlock answers
var processHolder = role.New("holder", func(o processOrders) {
	var losses atomic.Int64
	renewed := make(chan struct{}, 1)
	client := o.client(&rlock.Observer{
		Lost: func(*rlock.LostError) { losses.Add(1) },
		Renewed: func(r rlock.Renewal) {
			if r.Err == nil {
				select {
				case renewed <- struct{}{}:
				default:
				}
			}
		},
	})
	lock := rlock.New(client, o.Name)
	held, unlock, err := lock.Lock(context.Background())
	role.Check(err)
	fmt.Println("held")
	for {
		switch role.Told() {
		case "held":
			hold, err := lock.Held(held)
			fmt.Println(hold.Fence, processError(err))
		case "context":
			<-held.Done()
			fmt.Println(processError(context.Cause(held)))
		case "renewed":
			for range 3 { // the first may be of before
				<-renewed
			}
			fmt.Println("renewed")
		case "losses":
			fmt.Println(losses.Load())
		case "unlock":
			fmt.Println(processError(unlock()))
		}
	}
})

// processError is an error in one word.
func processError(err error) string {
	for word, is := range map[string]error{
		"lost": rlock.ErrLost, "released": rlock.ErrReleased, "not-held": rlock.ErrNotHeld,
		"unavailable": rlock.ErrUnavailable, "unconfirmed": rlock.ErrUnconfirmed,
	} {
		if errors.Is(err, is) {
			return word
		}
	}
	return fmt.Sprint(err)
}
