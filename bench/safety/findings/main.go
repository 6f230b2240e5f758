// Command findings shows, in a few lines each, what ../ and integration found of other libraries: by their own calls,
// as their documentation shows them, with one fault or none. It starts its own servers, and takes one to two minutes.
// What it needs a JDK or Python for, it leaves out where they are missing, and says so.
//
//	cd bench && go run ./safety/findings
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	cirello "cirello.io/pglock"
	_ "github.com/lib/pq" // the driver that the library asks for
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

var start time.Time

func say(format string, args ...any) {
	fmt.Printf("  %6.2f s  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	ok := servers.Alone(func(t testing.TB) {
		for _, f := range []func(testing.TB){
			slowAnswer, clockAhead, sessionToldLate, heartbeatToldLate, nodeLeft, noExclusion,
		} {
			start = time.Now()
			f(t)
		}
	})
	if !ok {
		os.Exit(1)
	}
}

// slowAnswer: a Redis that answers after 50 ms, once, and a lock that nobody holds.
func slowAnswer(t testing.TB) {
	fmt.Println("rueidislock, README's options: the first answer takes 50 ms")
	server, ctx := redistest.Start(t), context.Background()
	locker := must(rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		KeyMajority:  1, NoLoopTracking: true,
	}))
	defer locker.Close()
	must(server.Client(t).Do(ctx, "CLIENT", "PAUSE", "50", "ALL").Result())
	got := make(chan error, 1)
	start = time.Now()
	go func() {
		_, _, err := locker.WithContext(ctx, "job")
		got <- err
	}()
	select {
	case err := <-got:
		say("WithContext returned %v", err)
	case <-time.After(15 * time.Second):
		say("WithContext waits; the lock's keys in Redis: %q", server.Keys(t))
	}
}

// clockAhead: a Redis whose clock is ten seconds ahead of its clients', which is twice the validity.
func clockAhead(t testing.TB) {
	fmt.Println("rueidislock, README's options: the server's clock is 10 s ahead")
	server, clock := redistest.StartWithClock(t)
	clock.Ahead(10 * time.Second)
	ctx := context.Background()
	var inside []context.Context
	start = time.Now()
	for i := range 3 {
		locker := must(rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: []string{server.Addr()}},
			KeyMajority:  1, NoLoopTracking: true,
		}))
		defer locker.Close()
		held, _, err := locker.WithContext(ctx, "job")
		inside = append(inside, must(held, err))
		say("client %d has the lock", i)
	}
	for i, held := range inside {
		select {
		case <-held.Done():
			say("client %d: its context has ended", i)
		case <-time.After(15 * time.Second):
			say("client %d: its context has not ended", i)
		}
	}
}

// sessionToldLate: a holder whose path to etcd loses everything.
func sessionToldLate(t testing.TB) {
	fmt.Println("etcd concurrency.Mutex, a session with a TTL of 10 s: the holder is cut off")
	server, ctx := etcdtest.Start(t), context.Background()
	path := tcpproxy.Start(t, server.Addr())
	open := func(addr string) *concurrency.Session {
		config := clientv3.Config{Endpoints: []string{"http://" + addr}, Logger: zap.NewNop()}
		return must(concurrency.NewSession(must(clientv3.New(config)), concurrency.WithTTL(10)))
	}
	a, b := open(path.Addr()), open(server.Addr())
	must(0, concurrency.NewMutex(a, "job").Lock(ctx))
	time.Sleep(4 * time.Second) // some keep-alives
	path.Blackhole(true)
	start = time.Now()
	told := make(chan struct{})
	go func() {
		defer close(told)
		<-a.Done()
		say("A's session is done")
	}()
	must(0, concurrency.NewMutex(b, "job").Lock(ctx))
	say("B has the lock")
	<-told
}

// heartbeatToldLate: a holder whose answers from PostgreSQL are late.
func heartbeatToldLate(t testing.TB) {
	fmt.Println("cirello.io/pglock, README's 3 s and 1 s: the holder's answers are held back")
	server, ctx := pgtest.Start(t), context.Background()
	path := tcpproxy.Start(t, server.Addr())
	open := func(addr string) *cirello.Client {
		db := must(sql.Open("postgres", "postgres://postgres@"+addr+"/postgres?sslmode=disable"))
		return must(cirello.New(db,
			cirello.WithLeaseDuration(3*time.Second), cirello.WithHeartbeatFrequency(time.Second)))
	}
	a, b := open(path.Addr()), open(server.Addr())
	must(0, b.CreateTable())
	got := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = a.Do(ctx, "job", func(ctx context.Context, _ *cirello.Lock) error {
			close(got)
			<-ctx.Done()
			say("A's context ends")
			return nil
		})
	}()
	<-got
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		must(b.Acquire("job"))
		say("B has the lock")
	}()
	time.Sleep(3500 * time.Millisecond) // some heartbeats
	path.Hold(tcpproxy.Replies, true)
	start = time.Now()
	<-waiting
	time.Sleep(5 * time.Second)
	path.Hold(tcpproxy.Replies, false)
	<-told
}
