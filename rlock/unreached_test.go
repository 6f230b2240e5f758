package rlock_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// unreached is what hangs of a server that was never reached.
type unreached struct {
	dial        func(ctx context.Context, network, addr string) (net.Conn, error)
	onConnect   func(ctx context.Context, conn *redis.Conn) error
	credentials func(ctx context.Context) (username, password string, err error)
	streaming   auth.StreamingCredentialsProvider
}

// subscribing is a provider of credentials.
type subscribing func() (auth.Credentials, auth.UnsubscribeFunc, error)

func (s subscribing) Subscribe(auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	return s()
}

// hole dials a server that accepts, and never answers.
func hole(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, server) }() // ends with the connection
	return client, nil
}

// unreachedServers are the ways to hang, with a server that is well otherwise. What hangs is left when over ends.
func unreachedServers(over context.Context, server string) map[string]unreached {
	well := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server)
	}
	return map[string]unreached{
		"the server": {dial: hole},
		"the dialer": {dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"a dialer without a context": {dial: func(context.Context, string, string) (net.Conn, error) {
			<-over.Done()
			return nil, over.Err()
		}},
		"OnConnect": {dial: well, onConnect: func(context.Context, *redis.Conn) error {
			<-over.Done()
			return over.Err()
		}},
		"the credentials": {dial: well, credentials: func(context.Context) (username, password string, err error) {
			<-over.Done()
			return "", "", over.Err()
		}},
		"the stream of credentials": {dial: well, streaming: subscribing(
			func() (auth.Credentials, auth.UnsubscribeFunc, error) {
				<-over.Done()
				return nil, nil, over.Err()
			})},
	}
}

// clients are clients of each topology.
func (u unreached) clients() map[string]func() redis.UniversalClient {
	six := make([]string, 6)
	for i := range six {
		six[i] = fmt.Sprintf("10.0.0.%d:6379", i+1)
	}
	return map[string]func() redis.UniversalClient{
		"single": func() redis.UniversalClient {
			return redis.NewClient(&redis.Options{
				Dialer: u.dial, OnConnect: u.onConnect, CredentialsProviderContext: u.credentials,
				StreamingCredentialsProvider: u.streaming,
			})
		},
		"cluster": func() redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: six, Dialer: u.dial, OnConnect: u.onConnect, CredentialsProviderContext: u.credentials,
				StreamingCredentialsProvider: u.streaming,
			})
		},
		"Sentinel": func() redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: "primary", SentinelAddrs: six[:3], Dialer: u.dial, OnConnect: u.onConnect,
				CredentialsProviderContext: u.credentials, StreamingCredentialsProvider: u.streaming,
				DialTimeout: time.Second, DialerRetries: 1, // of go-redis's own dials, which nothing ends before
			})
		},
	}
}

const (
	unreachedLease   = 12 * time.Second // so a request has a sixth of it
	unreachedRequest = unreachedLease / 6
	unreachedShort   = 500 * time.Millisecond
	unreachedRelease = 12 * time.Second // a Close with nothing to release takes next to nothing of it
)

// unreachedCall is a call that fails, and how long it takes at most.
type unreachedCall struct {
	limit time.Duration
	call  func(ctx context.Context, client *rlock.Client) error
}

var unreachedCalls = map[string]unreachedCall{
	"TryLock": {unreachedRequest, func(ctx context.Context, client *rlock.Client) error {
		_, _, err := rlock.New(client, "a").TryLock(ctx)
		return err
	}},
	"Lock until a deadline": {unreachedShort, func(ctx context.Context, client *rlock.Client) error {
		ctx, cancel := context.WithTimeout(ctx, unreachedShort)
		defer cancel()
		_, _, err := rlock.New(client, "b").Lock(ctx)
		return err
	}},
	"Lock with MaxWait": {unreachedShort, func(ctx context.Context, client *rlock.Client) error {
		_, _, err := rlock.New(client, "c", rlock.MaxWait(unreachedShort)).Lock(ctx)
		return err
	}},
	"Inspect": {unreachedRequest, func(ctx context.Context, client *rlock.Client) error {
		_, err := rlock.New(client, "d").Inspect(ctx)
		return err
	}},
	"semaphore.TryAcquire": {unreachedRequest, func(ctx context.Context, client *rlock.Client) error {
		_, _, err := semaphore.New(client, "e").TryAcquire(ctx, 1)
		return err
	}},
	"multilock.TryLock": {unreachedRequest, func(ctx context.Context, client *rlock.Client) error {
		_, _, err := multilock.New([]*rlock.Lock{rlock.New(client, "{f}1"), rlock.New(client, "{f}2")}).TryLock(ctx)
		return err
	}},
	"operate.List until a deadline": {unreachedShort, func(ctx context.Context, client *rlock.Client) error {
		ctx, cancel := context.WithTimeout(ctx, unreachedShort)
		defer cancel()
		for _, err := range operate.List(ctx, client, "*") {
			if err != nil {
				return err
			}
		}
		return nil
	}},
}

// Of servers that were never reached each call keeps its limit, and so does Close, which has nothing to release:
// whatever was asked for was certainly not sent. The limits are of docs/when-redis-is-down.md, and at least a second longer here.
// This is defect G5.
func TestWhatWasNeverReachedHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	server := redistest.Shared(t)
	var all sync.WaitGroup
	for what, hangs := range unreachedServers(over, server.Addr()) {
		for topology, open := range hangs.clients() {
			for name, one := range unreachedCalls {
				rdb := open()
				defer func() { _ = rdb.Close() }() // when what hangs has ended
				all.Go(func() {
					name := fmt.Sprint(what, ", ", topology, ", ", name)
					client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
						Lease: unreachedLease, ReleaseTimeout: unreachedRelease, Logger: slog.New(slog.DiscardHandler),
					})
					if !assert.NoError(t, err, name) {
						return
					}
					limit := one.limit
					if hangs.streaming != nil { // which gets no context, so it has the time of a request
						limit = unreachedRequest
					}
					began := time.Now()
					assert.Error(t, one.call(t.Context(), client), name)
					assert.LessOrEqual(t, time.Since(began), max(2*limit, limit+time.Second), name)
					began = time.Now()
					_ = client.Close()
					assert.LessOrEqual(t, time.Since(began), unreachedRelease/2, "%s: Close, with nothing held", name)
				})
			}
		}
	}
	all.Wait()
	end()
}
