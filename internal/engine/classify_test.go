package engine

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

	"github.com/holdfast-go/holdfast/lua"
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
	for want, errs := range map[fault]kinds{
		faultNone: {"nothing": nil},
		faultAmbiguous: {
			"end of file":            io.EOF,
			"cut in the middle":      io.ErrUnexpectedEOF,
			"connection reset":       reset,
			"write failed":           &net.OpError{Op: "write", Err: syscall.EPIPE},
			"read timeout":           &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
			"deadline":               context.DeadlineExceeded,
			"cancelled":              context.Canceled,
			"abandoned":              errAbandoned,
			"too few replicas":       &shortfallError{got: 0, want: 1},
			"WAIT was refused":       &shortfallError{want: 1, err: refusal(t, "LOADING x")},
			"an answer of no script": errors.New("lua: unexpected reply"),
		},
		faultConflict: {"another type at the key": fmt.Errorf("%w: a list", lua.ErrConflict)},
		faultTransient: {
			"dial refused":   &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
			"dial timeout":   &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
			"pool timeout":   redis.ErrPoolTimeout,
			"pool exhausted": redis.ErrPoolExhausted,
		},
		faultDefinite: {"client closed": redis.ErrClosed},
	} {
		for name, err := range errs {
			t.Run(name, func(t *testing.T) { requireKind(t, want, err) })
		}
	}
}

func requireKind(t *testing.T, want fault, err error) {
	t.Helper()
	require.Equal(t, want, classify(err), "%v", err)
	if err != nil {
		require.Equal(t, want, classify(fmt.Errorf("around it: %w", err)), "wrapped")
		require.Equal(t, want, classify(errors.Join(errors.New("beside it"), err)), "joined")
	}
}

// A script that Redis answers with an error wrote nothing. Some states of a server pass.
func TestClassifyRefusals(t *testing.T) {
	for want, texts := range map[fault][]string{
		faultTransient: {
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
		faultDefinite: {
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
		requireKind(t, faultTransient, rdb.Ping(t.Context()).Err())
	})
	t.Run("no answer in time", func(t *testing.T) {
		rdb := answering(t, "")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		requireKind(t, faultAmbiguous, rdb.Ping(ctx).Err())
	})
	t.Run("the pool is used up", func(t *testing.T) {
		rdb := answering(t, "-ERR what")
		conn := rdb.Conn()
		defer func() { _ = conn.Close() }()
		require.EqualError(t, conn.Ping(t.Context()).Err(), "ERR what")
		requireKind(t, faultTransient, rdb.Ping(t.Context()).Err())
	})
	t.Run("closed", func(t *testing.T) {
		rdb := answering(t, "+PONG")
		require.NoError(t, rdb.Close())
		requireKind(t, faultDefinite, rdb.Ping(t.Context()).Err())
	})
}

// A command's own limit must not look like the end of the caller's context.
func TestOursHidesOurOwnDeadlines(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		wrapped := fmt.Errorf("reading: %w", err)
		hidden := ours(wrapped)
		require.NotErrorIs(t, hidden, err)
		require.EqualError(t, hidden, wrapped.Error())
	}
	require.Equal(t, io.EOF, ours(io.EOF))
	require.NoError(t, ours(nil))
}

func TestContextErrorMatchesErrAndCause(t *testing.T) {
	plain, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, context.Canceled, contextError(plain))
	mine := errors.New("mine")
	caused, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(mine)
	err := contextError(caused)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, mine)
	require.EqualError(t, err, "mine")
}

// An error of the public vocabulary matches its word, its cause and the context's end at once.
func TestVerdictMatchesAllThatItIsMadeOf(t *testing.T) {
	word, cause := errors.New("busy"), errors.New("why")
	v := &verdict{word: word, name: "order", cause: cause, ended: context.DeadlineExceeded}
	for _, target := range []error{word, cause, context.DeadlineExceeded} {
		require.ErrorIs(t, v, target)
	}
	require.EqualError(t, v, `busy: "order": why: context deadline exceeded`)
	bare := &verdict{word: word, name: "order"}
	require.EqualError(t, bare, `busy: "order"`)
	require.NotErrorIs(t, bare, cause)
}
