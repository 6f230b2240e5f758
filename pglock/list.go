package pglock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/vocabulary"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock/internal/pgstore"
)

// listPage is how many rows one statement of [List] reads.
const listPage = 500

// List yields the locks whose names match a pattern of LIKE, in the order of their names: "order:%", or "%" for all. A
// pattern that is empty, or that LIKE refuses, is a *lock.ArgumentError. A name that was locked once stays in the
// table, so free locks are listed, too: skip those with [lock.Entry.Free]. A lock that changes while List reads is
// listed as it was or as it is. An error ends the list.
func List(ctx context.Context, c *Client, pattern string) iter.Seq2[lock.Entry, error] {
	return func(yield func(lock.Entry, error) bool) {
		err := c.opened()
		if problem := badPattern(pattern); err == nil && problem != "" {
			err = &lock.ArgumentError{Name: "pattern", Value: fmt.Sprintf("%q", pattern), Problem: problem}
		}
		if err == nil && ctx == nil {
			err = &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
		}
		for behind := ""; err == nil; {
			var rows []pgstore.Row
			if err = ctx.Err(); err == nil {
				rows, err = c.store.List(c.store.Within(ctx, c.limit()), pattern, behind, listPage)
			}
			for _, row := range rows {
				if !yield(c.entry(row), nil) {
					return
				}
				behind = row.Name
			}
			if err == nil && len(rows) < listPage {
				return
			}
		}
		yield(lock.Entry{}, unlisted(ctx, err))
	}
}

// badPattern is what is wrong with a pattern of LIKE; "": nothing.
func badPattern(pattern string) string {
	escapes := len(pattern) - len(strings.TrimRight(pattern, `\`))
	switch {
	case pattern == "":
		return `must not be empty; "%" matches every name`
	case !storable(pattern):
		return "must be UTF-8 without a zero byte, as PostgreSQL's text is"
	case escapes%2 == 1:
		return `must not end with the escape character of LIKE, \`
	}
	return ""
}

// limit is how long one statement may take.
func (c *Client) limit() time.Duration { return request.CommandLimit(c.core.Lease) }

func (c *Client) entry(row pgstore.Row) lock.Entry {
	e := lock.Entry{Name: row.Name, Kind: lock.KindLock, Fence: row.Fence}
	if row.Fence > 0 {
		e.Since = time.UnixMicro(row.Fence)
	}
	for _, t := range row.Transactions {
		e.Transactions = append(e.Transactions, lock.Transaction(t))
	}
	if row.Wanted {
		e.Waiters = 1
	}
	if row.ID != "" {
		e.Held = 1
		e.Holders = []lock.Holder{{
			ID: row.ID, Count: 1, TTL: row.TTL, Fence: row.Fence, Mine: strings.HasPrefix(row.ID, c.core.ClientID+":"),
		}}
	}
	return e
}

// words are the errors of this store.
var words = vocabulary.Errors(pgstore.Name)

// unlisted is the error of a call that reads what others have.
func unlisted(ctx context.Context, err error) error {
	var bad *lock.ArgumentError
	if errors.As(err, &bad) {
		return err
	}
	return vocabulary.Failure(ctx, words, "list locks", errors.Is(err, store.ErrUnsent), err)
}
