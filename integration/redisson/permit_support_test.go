package redisson_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// permitGo is a client of this process, and what it does with semaphores and latches.
type permitGo struct{ *goSide }

// waitsFor starts a call that must wait, and returns once it waits and the channel has a subscriber.
func (g permitGo) waitsFor(channel string, call func(ctx context.Context) error) <-chan error {
	g.t.Helper()
	before := g.client.Stats().Waiters
	c := make(chan error, 1)
	go func() { c <- call(context.Background()) }()
	redistest.Eventually(g.t, limit, func() bool { return g.client.Stats().Waiters > before }, "the call does not wait")
	redistest.Eventually(g.t, limit, func() bool {
		for _, s := range g.servers {
			for _, heard := range s.PubSubChannels(g.t) {
				if heard == channel {
					return true
				}
			}
		}
		return false
	}, "nobody listens on "+channel)
	return c
}

// comes waits for a call that waited.
func (g permitGo) comes(c <-chan error) {
	g.t.Helper()
	select {
	case err := <-c:
		require.NoError(g.t, err)
	case <-time.After(limit):
		g.t.Fatal("the waiter of this process was not woken")
	}
}

func permitChannel(name string) string { return keys.Prefix("redisson_sc", name) }
func latchChannel(name string) string  { return "redisson_countdownlatch__channel__{" + name + "}" }

// inside is a set of the callers that have a permit: it must never have more members than there are permits.
type inside struct {
	rdb      redis.UniversalClient
	key      string
	capacity int64
}

// visit reports whether there were too many.
func (p inside) visit(ctx context.Context, me string) (overlap bool, err error) {
	if err := p.rdb.ZAdd(ctx, p.key, redis.Z{Member: me}).Err(); err != nil {
		return false, err
	}
	time.Sleep(2 * time.Millisecond) // time for another to get in
	count, err := p.rdb.ZCard(ctx, p.key).Result()
	if err != nil {
		return false, err
	}
	return count > p.capacity, p.rdb.ZRem(ctx, p.key, me).Err()
}

// The environment that makes this test binary, started again, acquire permits until it is killed.
const (
	permitAddr = "HOLDFAST_TEST_PERMIT_ADDR"
	permitName = "HOLDFAST_TEST_PERMIT_NAME"
	permitMe   = "HOLDFAST_TEST_PERMIT_ME"
	permitAll  = "HOLDFAST_TEST_PERMIT_CAPACITY"
)

// permitChild is a process that acquires and releases permits of a name, for ever.
func permitChild() error {
	capacity, err := strconv.ParseInt(os.Getenv(permitAll), 10, 64)
	if err != nil {
		return err
	}
	go func() { // its end ends the process if the test dies
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv(permitAddr)})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: short})
	if err != nil {
		return err
	}
	name := os.Getenv(permitName)
	p := inside{rdb: rdb, key: name + ":inside", capacity: capacity}
	s := semaphore.New(client, name)
	fmt.Println("ready")
	for {
		err := s.Do(context.Background(), 1, func(ctx context.Context) error {
			overlap, err := p.visit(ctx, os.Getenv(permitMe))
			if overlap {
				fmt.Println("overlap")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

// startPermitChild starts one. Kill returns the number of overlaps that it reported.
func startPermitChild(t *testing.T, addr, name, me string, capacity int64) (kill func() (overlaps int)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), permitAddr+"="+addr, permitName+"="+name, permitMe+"="+me,
		permitAll+"="+strconv.FormatInt(capacity, 10))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan() && lines.Text() == "ready", "the child says %q", lines.Text())
	told := make(chan int, 1)
	go func() {
		n := 0
		for lines.Scan() {
			n++
			t.Log(me, "says", lines.Text())
		}
		told <- n
	}()
	return func() int {
		_ = cmd.Process.Kill()
		n := <-told
		_ = cmd.Wait() // its status says nothing
		_ = in.Close()
		return n
	}
}
