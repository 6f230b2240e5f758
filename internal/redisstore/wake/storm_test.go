package wake_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A ticket that is ready hears the next message, whatever a thousand others join and leave meanwhile, and in the end
// nothing is left subscribed.
func TestAThousandJoinAndLeaveAtOnce(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()), lingering(time.Millisecond))
	rdb := server.Client(t)
	var done sync.WaitGroup
	for i := range 1000 {
		done.Go(func() {
			channel := fmt.Sprint("c", i%40)
			ticket := hub.Listen(channel)
			defer ticket.Leave()
			if i%3 == 0 {
				return // leaves before anything was confirmed
			}
			select {
			case <-ticket.Ready():
			case <-time.After(limit):
				t.Errorf("%s: not ready", channel)
				return
			}
			select {
			case <-ticket.C():
			default:
			}
			if err := rdb.Publish(context.Background(), channel, "0").Err(); err != nil {
				t.Error(err)
			}
			select {
			case <-ticket.C():
			case <-time.After(limit):
				t.Errorf("%s: not woken", channel)
			}
		})
	}
	done.Wait()
	require.LessOrEqual(t, subscribers(t, server), 1)
	silent(t, server)
}

// A channel flooded with unread messages must not delay another one (faults.md 26).
func TestAMessageStormDoesNotBlock(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()))
	lazy, busy := listening(t, hub, "flood"), listening(t, hub, "a")
	rdb := server.Client(t)
	for range 10 {
		pipe := rdb.Pipeline()
		for range 2000 {
			pipe.Publish(context.Background(), "flood", "0")
		}
		_, err := pipe.Exec(context.Background())
		require.NoError(t, err)
		publish(t, server, "a")
		woken(t, busy, "a message behind many others")
	}
	require.Len(t, lazy.C(), 1)
	require.Equal(t, 1, subscribers(t, server))
	lazy.Leave()
	busy.Leave()
}

// The connection dies over and over while tickets come and go: every ticket that stays is woken after each rebuild,
// so a check at each wake-up misses nothing (bugs 28 and 30).
func TestReconnectStorm(t *testing.T) {
	server := redistest.Start(t)
	hub := newHub(t, options(server.Addr()), lingering(time.Millisecond))
	stop := make(chan struct{})
	var churn sync.WaitGroup
	for i := range 20 {
		churn.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ticket := hub.Listen(fmt.Sprint("c", (i+rand.IntN(3))%10))
				select {
				case <-ticket.Ready():
				case <-time.After(limit):
					t.Error("not ready")
				}
				ticket.Leave()
			}
		})
	}
	ticket := listening(t, hub, "stays")
	for range 15 {
		killSubscribers(t, server)
		woken(t, ticket, "a subscription that was made anew")
	}
	close(stop)
	churn.Wait()
	redistest.Eventually(t, limit, func() bool {
		publish(t, server, "stays")
		return len(ticket.C()) == 1
	}, "deaf after the storm")
	ticket.Leave()
	silent(t, server)
}

// A topic that moves to another node's line takes its tickets along while some of them leave. The
// "nodes" are labels of one server, so that they can change as fast as the test likes.
func TestTicketsLeaveWhileTheirChannelMoves(t *testing.T) {
	server := redistest.Start(t)
	var node atomic.Int64
	hub := newHub(t, options(server.Addr()), func(c *wake.Config) {
		c.Shard = func(context.Context, string) string { return fmt.Sprint(node.Load() % 2) }
	})
	const channel = "moving"
	stays := listening(t, hub, channel)
	for range 20 {
		var tickets []*wake.Ticket
		for range 300 {
			tickets = append(tickets, hub.Listen(channel))
		}
		ready(t, tickets[0])
		node.Add(1)
		killSubscribers(t, server)
		var leaving sync.WaitGroup
		for part := range 4 {
			leaving.Go(func() {
				for i := part; i < len(tickets); i += 4 {
					for range rand.IntN(100) {
						runtime.Gosched()
					}
					tickets[i].Leave()
				}
			})
		}
		woken(t, stays, "a subscription that was made anew")
		leaving.Wait()
	}
	redistest.Eventually(t, limit, func() bool {
		publish(t, server, channel)
		return len(stays.C()) == 1
	}, "the ticket was lost on the way")
	stays.Leave()
	silent(t, server)
}
