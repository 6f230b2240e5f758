package redisstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// answering is a client of a server that answers every command with the same bytes; with none it
// does not answer.
func answering(t *testing.T, reply string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, PoolSize: 1, ContextTimeoutEnabled: true,
		PoolTimeout: time.Millisecond,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer func() { _ = server.Close() }()
				for in := bufio.NewReader(server); ; {
					if _, err := in.ReadString('\n'); err != nil { // *1
						return
					}
					_, _ = in.ReadString('\n') // $4
					_, _ = in.ReadString('\n') // ping
					if reply == "" {
						continue
					}
					if _, err := io.WriteString(server, reply+"\r\n"); err != nil {
						return
					}
				}
			}()
			return client, nil
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// refusal is go-redis's error for a reply.
func refusal(t *testing.T, text string) error {
	t.Helper()
	err := answering(t, "-"+text).Ping(t.Context()).Err()
	require.EqualError(t, err, text)
	return err
}

// What an error means decides whether a request is repeated, cleaned up after, or given up (G3, G4):
// "it did not run" may be said only where that is certain.
func TestClassify(t *testing.T) {
	type kinds map[string]error
	reset := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for want, errs := range map[store.Fault]kinds{
		store.FaultNone: {"nothing": nil},
		store.FaultAmbiguous: {
			"end of file":            io.EOF,
			"cut in the middle":      io.ErrUnexpectedEOF,
			"connection reset":       reset,
			"write failed":           &net.OpError{Op: "write", Err: syscall.EPIPE},
			"read timeout":           &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
			"deadline":               context.DeadlineExceeded,
			"cancelled":              context.Canceled,
			"too few replicas":       &store.ShortfallError{Got: 0, Want: 1},
			"WAIT was refused":       &store.ShortfallError{Want: 1, Err: refusal(t, "LOADING x")},
			"an answer of no script": errors.New("lua: unexpected reply"),
		},
		store.FaultConflict: {"another type at the key": fmt.Errorf("%w: a list", store.ErrConflict)},
		store.FaultTransient: {
			"dial refused":   &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
			"dial timeout":   &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
			"pool timeout":   redis.ErrPoolTimeout,
			"pool exhausted": redis.ErrPoolExhausted,
		},
		store.FaultDefinite: {"client closed": redis.ErrClosed},
	} {
		for name, err := range errs {
			t.Run(name, func(t *testing.T) { requireKind(t, want, err) })
		}
	}
}

func requireKind(t *testing.T, want store.Fault, err error) {
	t.Helper()
	require.Equal(t, want, store.FaultOf(meaning(err)), "%v", err)
	if err != nil {
		require.Equal(t, want, store.FaultOf(meaning(fmt.Errorf("around it: %w", err))), "wrapped")
		require.Equal(t, want, store.FaultOf(meaning(errors.Join(errors.New("beside it"), err))), "joined")
	}
}

// A script that Redis answers with an error wrote nothing. Some states of a server pass.
func TestClassifyRefusals(t *testing.T) {
	for want, texts := range map[store.Fault][]string{
		store.FaultTransient: {
			"LOADING Redis is loading the dataset in memory",
			"READONLY You can't write against a read only replica.",
			"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
			"CLUSTERDOWN The cluster is down",
			"CLUSTERDOWN Hash slot not served",
			"TRYAGAIN Multiple keys request during rehashing of slot",
			"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
			"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
			"OOM command not allowed when used memory > 'maxmemory'.",
			"MISCONF Redis is configured to save RDB snapshots",
			"NOREPLICAS Not enough good replicas to write.",
			"NOSCRIPT No matching script.",
			"UNBLOCKED force unblock from blocking operation, instance state changed",
			"ERR max number of clients reached",
		},
		store.FaultDefinite: {
			"ERR unknown command 'EVALSHA'",
			"NOPERM this user has no permissions to run the 'evalsha' command",
			"NOAUTH Authentication required.",
			"WRONGPASS invalid username-password pair or user is disabled.",
			"CROSSSLOT Keys in request don't hash to the same slot",
			"ERR user_script:1: Script attempted to access nonexistent global variable 'x'",
		},
	} {
		for _, text := range texts {
			t.Run(text, func(t *testing.T) { requireKind(t, want, refusal(t, text)) })
		}
	}
}

// The errors that go-redis itself makes, from the situations in which it makes them.
func TestClassifyWhatGoRedisReturns(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, listener.Close())
		rdb := redis.NewClient(&redis.Options{
			Addr: listener.Addr().String(), MaxRetries: -1, DialerRetries: 1,
		})
		defer func() { _ = rdb.Close() }()
		requireKind(t, store.FaultTransient, rdb.Ping(t.Context()).Err())
	})
	t.Run("no answer in time", func(t *testing.T) {
		rdb := answering(t, "")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		requireKind(t, store.FaultAmbiguous, rdb.Ping(ctx).Err())
	})
	t.Run("the pool is used up", func(t *testing.T) {
		rdb := answering(t, "-ERR what")
		conn := rdb.Conn()
		defer func() { _ = conn.Close() }()
		require.EqualError(t, conn.Ping(t.Context()).Err(), "ERR what")
		requireKind(t, store.FaultTransient, rdb.Ping(t.Context()).Err())
	})
	t.Run("closed", func(t *testing.T) {
		rdb := answering(t, "+PONG")
		require.NoError(t, rdb.Close())
		requireKind(t, store.FaultDefinite, rdb.Ping(t.Context()).Err())
	})
}
