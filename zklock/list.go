package zklock

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/vocabulary"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock/internal/zkstore"
)

// List tells the locks that are held and whose names begin with a prefix, in the order of their names; with ""
// all. Those of other programs that lock below [Options.Root] are among them. What changes while List reads may be told
// as it was or as it is. An error ends it.
func List(ctx context.Context, c *Client, prefix string) iter.Seq2[lock.Entry, error] {
	return func(yield func(lock.Entry, error) bool) {
		err := c.opened()
		if err == nil && ctx == nil {
			err = &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
		}
		if err == nil {
			err = c.store.Ready(ctx, c.limit())
		}
		if err == nil {
			within := func() context.Context { return c.store.Within(ctx, c.limit()) }
			err = c.store.List(ctx, prefix, within, func(row zkstore.Row) bool { return yield(c.entry(row), nil) })
		}
		if err != nil {
			yield(lock.Entry{}, unanswered(ctx, "list locks", err))
		}
	}
}

func (c *Client) opened() error {
	if c == nil || c.core.Engine == nil {
		return client.NotNew()
	}
	return nil
}

// limit is how long one request may take.
func (c *Client) limit() time.Duration { return request.CommandLimit(c.core.Lease) }

func (c *Client) entry(row zkstore.Row) lock.Entry {
	return lock.Entry{
		Name: row.Name, Kind: lock.KindLock, Fence: row.Fence,
		Info: lock.Info{Held: 1, Waiters: row.Waiters, Holders: []lock.Holder{{
			ID: row.ID, Count: 1, TTL: -1, Fence: row.Fence, Mine: strings.HasPrefix(row.ID, c.core.ClientID+":"),
		}}},
	}
}

// words are the errors of this store.
var words = vocabulary.Errors(zkstore.Name)

// unanswered is the error of a call that only asks ZooKeeper.
func unanswered(ctx context.Context, what string, err error) error {
	var bad *lock.ArgumentError
	if errors.As(err, &bad) {
		return err
	}
	return vocabulary.Failure(ctx, words, what, errors.Is(err, store.ErrUnsent), err)
}

// Rebase raises the base of the fencing tokens above all that were ever issued. Clients read it with each acquisition,
// so those that are in use have higher tokens from their next one on. Call it each time after ZooKeeper's data were
// restored, before clients start: the numbers of changes and the base, and so tokens, begin again then at what they
// were when the data were saved, and storage that checks tokens would refuse every new holder.
//
// What was issued since only the clock knows. So a call goes far above it, and is above the tokens of all earlier calls
// if the clock has not been set back, and the leader changed no more than 32 times since, and once a day.
//
// Call it also before a program moves from another store to a ZooKeeper that has had locks for a while: the base is
// then above what the other store's clock has shown.
func Rebase(ctx context.Context, c *Client) error {
	if err := c.opened(); err != nil {
		return err
	}
	if ctx == nil {
		return &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	}
	err := c.store.Ready(ctx, c.limit())
	if err == nil {
		err = c.store.Rebase(c.store.Within(ctx, c.limit()))
	}
	if err != nil {
		return unanswered(ctx, "raise the base of tokens", err)
	}
	return nil
}
