package redisson_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
)

// orders are what a process of ours is told.
type orders struct {
	Addr, Name     string
	Me             string // who it is, where that matters
	Lease, MaxPoll time.Duration
	Capacity       int64 // of a semaphore
}

// open makes the client of the process.
func (o orders) open() (*redis.Client, *rlock.Client) {
	rdb := redis.NewClient(&redis.Options{Addr: o.Addr})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: o.Lease, MaxPoll: o.MaxPoll, Logger: slog.New(slog.DiscardHandler),
	})
	role.Check(err)
	return rdb, client
}

// holder holds a lock until it is killed.
var holder = role.New("holder", func(o orders) {
	_, client := o.open()
	_, _, err := rlock.New(client, o.Name).Lock(context.Background())
	role.Check(err)
	fmt.Println("held")
	role.Told()
})

func TestMain(m *testing.M) {
	role.Play()
	redistest.Main(m)
}
