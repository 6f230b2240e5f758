package semaphore

import (
	"fmt"
	"strings"

	general "github.com/holdfast-go/holdfast/internal/client"
	settings "github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/rlock"
)

// Redisson's prefixes of the keys and channels beside the semaphore's own key.
const (
	channelPrefix = "redisson_sc"
	leasesSuffix  = "timeout"
)

// handle is the common part of both kinds of semaphore.
type handle struct {
	client *redisclient.Client
	core   redisclient.Core
	opts   []rlock.Option
	own    settings.Options // of opts; this package reads its own ones
	name   string
	key    string
	err    error // a bad argument of New; returned by every call
}

func newHandle(client *rlock.Client, name string, opts []rlock.Option) handle {
	h := handle{client: (*redisclient.Client)(client), name: name, opts: opts, own: settings.Collect(opts)}
	if h.core, h.err = h.client.Core(); h.err != nil {
		return h
	}
	if h.key, h.err = h.core.Key(name); h.err != nil {
		return h
	}
	req, err := h.client.Request(opts)
	if err == nil && req.MinHold > 0 {
		err = general.NoMinHold(req.MinHold)
	}
	if err == nil {
		err = general.NoKeep(&req)
	}
	if err == nil {
		err = checkUnused(h.own.Unused, req.Lease)
	}
	if h.err = err; err != nil {
		return h
	}
	h.err = h.core.CheckSlot(h.key, h.leases(), h.channel(), h.requests())
	return h
}

func (h *handle) channel() string { return keys.Prefix(channelPrefix, h.key) }
func (h *handle) leases() string  { return keys.Suffix(h.key, leasesSuffix) }

// requests is the key that holds the ids of recent requests.
func (h *handle) requests() string { return keys.Own("request", h.key) }

// check is the first step of every call.
func (h *handle) check(ctx any) error {
	switch {
	case h != nil && h.err != nil:
		return h.err
	case h == nil || h.core.Engine == nil:
		return &rlock.ArgumentError{
			Name: "semaphore", Problem: "must come from New; its zero value is none",
		}
	case ctx == nil:
		return &rlock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	}
	return nil
}

// part is the handle of a semaphore; nil: it is none.
func (s *Semaphore) part() *handle {
	if s == nil {
		return nil
	}
	return &s.handle
}

func (s *Counting) part() *handle {
	if s == nil {
		return nil
	}
	return &s.handle
}

// checkSpelling refuses the one spelling that makes two names share one set of leases: Redisson puts braces around a
// name without any, and leaves a name with braces as it is.
func checkSpelling(key string) error {
	inner, braced := strings.CutPrefix(key, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !braced || !closed || inner == "" || strings.Contains(inner, "{") {
		return nil
	}
	return &rlock.ArgumentError{
		Name: "name", Value: fmt.Sprintf("%q", key), Problem: fmt.Sprintf("must be more than a hash tag, "+
			"because Redisson keeps the leases of %q in the same place: use that, which is in the same slot, "+
			"or a name like %q", inner, key+":permits"),
	}
}

// checkNumber refuses a number of permits out of range.
func checkNumber(n, least, most int64) error {
	switch {
	case n < least && least < 0:
		return &rlock.ArgumentError{Name: "n", Value: n, Problem: fmt.Sprintf("must be at least %d", least)}
	case n < least && least == 0:
		return &rlock.ArgumentError{Name: "n", Value: n, Problem: "must not be negative"}
	case n < least:
		return &rlock.ArgumentError{Name: "n", Value: n, Problem: "must be positive"}
	case n > most:
		return &rlock.ArgumentError{
			Name: "n", Value: n, Problem: fmt.Sprintf("must be at most %d", most),
		}
	}
	return nil
}
