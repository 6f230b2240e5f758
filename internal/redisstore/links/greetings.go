package links

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
)

// greetings are the options by which go-redis shows the progress of a connection: it asks for the credentials
// before the first command, and calls OnConnect after the last.
//
// A struct per client, used by every connection that it makes; nothing in it changes.
type greetings struct {
	links      *Links
	provider   func() (username, password string)
	withCtx    func(ctx context.Context) (username, password string, err error)
	user, pass string
	onConnect  func(ctx context.Context, conn *redis.Conn) error
}

// login is who logs in.
type login struct{ user, pass string }

func (g greetings) credentials(ctx context.Context) (username, password string, err error) {
	greets(ctx)
	var with login
	switch {
	case g.withCtx != nil:
		with, err = outlast(g.links, ctx, "CredentialsProviderContext", func(ctx context.Context) (login, error) {
			user, pass, err := g.withCtx(ctx)
			return login{user, pass}, err
		})
	case g.provider != nil:
		with, err = outlast(g.links, ctx, "CredentialsProvider", func(context.Context) (login, error) {
			user, pass := g.provider()
			return login{user, pass}, nil
		})
	default:
		with = login{g.user, g.pass}
	}
	return with.user, with.pass, err
}

func (g greetings) connected(ctx context.Context, conn *redis.Conn) error {
	if g.onConnect != nil {
		_, err := outlast(g.links, ctx, "OnConnect", func(ctx context.Context) (none struct{}, err error) {
			return none, g.onConnect(ctx, conn)
		})
		if err != nil {
			return err
		}
	}
	greeted(ctx)
	return nil
}

// streaming bounds a provider that announces new credentials when there are some. It is the application's.
type streaming struct {
	links *Links
	given auth.StreamingCredentialsProvider
}

// streamed is what bounds a provider; nil if there is none.
func streamed(l *Links, given auth.StreamingCredentialsProvider) auth.StreamingCredentialsProvider {
	if given == nil {
		return nil
	}
	return streaming{l, given}
}

const streamingName = "StreamingCredentialsProvider"

// Subscribe implements [auth.StreamingCredentialsProvider]. A subscription that comes when nobody waits for it any more
// is ended: of the caller that leaves and the provider that returns, the second one finds left set.
func (s streaming) Subscribe(to auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	var end auth.UnsubscribeFunc // written before left is
	var left atomic.Bool
	drop := func() { _ = s.ending(end)() }
	got, err := outlast(s.links, context.Background(), streamingName,
		func(context.Context) (got auth.Credentials, err error) {
			if got, end, err = s.given.Subscribe(to); err == nil && left.Swap(true) {
				drop()
			}
			return got, err
		})
	if err == nil {
		return got, s.ending(end), nil
	}
	if left.Swap(true) {
		drop()
	}
	return nil, nil, err
}

// ending bounds the end of a subscription, for which the end of a connection waits.
func (s streaming) ending(end auth.UnsubscribeFunc) auth.UnsubscribeFunc {
	return func() error {
		_, err := outlast(s.links, context.Background(), streamingName,
			func(context.Context) (none struct{}, err error) { return none, end() })
		return err
	}
}

// slowError says that a function of the application's did not return in time. No connection was made.
type slowError struct{ function string }

func (e *slowError) Error() string {
	return e.function + " of the application has not returned in time"
}

// outlast calls a function of the application's, and returns when it does, at the deadline of ctx, or when the links
// are closed. A function that heeds neither its context nor the end of a connection goes on by itself, in a goroutine
// that ends with it; what it returns is dropped. Until then it would hold up all who wait for the connection, and
// Close.
func outlast[T any](
	l *Links, ctx context.Context, name string, fn func(ctx context.Context) (T, error),
) (T, error) {
	at, ok := ctx.Deadline()
	if !ok {
		at = time.Now().Add(greetingFor(l.command))
	}
	ctx, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	type result struct {
		val T
		err error
	}
	returned := make(chan result, 1)
	go func() { // ends with the function
		var r result
		defer func() {
			if panicked := recover(); panicked != nil {
				r.err = fmt.Errorf("%s panicked: %v", name, panicked)
			}
			returned <- r
		}()
		r.val, r.err = fn(ctx)
	}()
	var none T
	select {
	case r := <-returned:
		return r.val, r.err
	case <-l.ended:
		return none, errEnded
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, fmt.Errorf("%w", &slowError{name}) // go-redis unwraps one layer
		}
		return none, ctx.Err()
	}
}

// ownMap bounds a map of the slots that the application makes itself, as it does behind Sentinels.
func (l *Links) ownMap(
	slots func(ctx context.Context) ([]redis.ClusterSlot, error),
) func(ctx context.Context) ([]redis.ClusterSlot, error) {
	return func(ctx context.Context) ([]redis.ClusterSlot, error) {
		return outlast(l, ctx, "ClusterSlots", slots)
	}
}

// askBy has a derived client of a cluster, whose options these are, ask for its map of the slots in bounded time.
func (l *Links) askBy(o *redis.ClusterOptions) {
	if l.topology.seeds != nil {
		l.topology.seeds.attach(o)
	} else {
		o.ClusterSlots = l.ownMap(o.ClusterSlots)
	}
}
