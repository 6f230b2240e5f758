package zookeeper

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// oursHolder contends by package zklock.
var oursHolder = role.New("ours", func(o orders) {
	client := o.client()
	acquire, release := of(client.Lock(path.Base(o.Path)))
	play(o.Who, acquire, release)
	role.Check(client.Close())
})

// crowd is how many goroutines contend as one contender.
const crowd = 8

// oursCrowdHolder contends by as many goroutines of one client, which pass the lock to one another.
var oursCrowdHolder = role.New("ours-crowd", func(o orders) {
	client := o.client()
	tell("ready")
	words := strings.Fields(role.Told())
	var all sync.WaitGroup
	for i := range crowd {
		acquire, release := of(client.Lock(path.Base(o.Path)))
		all.Go(func() { take(fmt.Sprintf("%s-%d", o.Who, i), words[1:], acquire, release) })
	}
	all.Wait()
	tell("done")
	role.Told()
	role.Check(client.Close())
})

// client makes the client of the process. Only messages wake its waiters: it does not poll within a test.
func (o orders) client() *zklock.Client {
	client, err := zklock.NewClient(o.Servers, &zklock.Options{
		Lease: o.Session, Root: path.Dir(o.Path), MaxPoll: time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	role.Check(err)
	return client
}

// of returns what takes a lock, and frees what it took.
func of(l *lock.Lock) (acquire, release func() error) {
	var unlock func() error
	acquire = func() (err error) {
		_, unlock, err = l.Lock(context.Background())
		return err
	}
	return acquire, func() error { return unlock() }
}
