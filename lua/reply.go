package lua

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Status is the outcome of a call.
type Status = store.Status

// The statuses. The numbers are those that the scripts return.
const (
	Late    = store.Late    // it arrived after its not-after; nothing was written
	Busy    = store.Busy    // another holds the lock; nothing was written
	Held    = store.Held    // taken by this call
	Already = store.Already // done by an earlier copy of this call; nothing was written
	Done    = store.Done    // done by this call
	Gone    = store.Gone    // the hold does not exist; nothing was written
	Apart   = store.Apart   // one of several in a script: nothing was done for it, it must be sent by itself
)

// reader reads the values of a reply and keeps the first error, so that a decoder looks like the reply it decodes.
type reader struct {
	values []any
	err    error
}

// newReader reads a reply of that many values.
func newReader(reply any, size int) reader {
	values, ok := reply.([]any)
	if !ok || len(values) != size {
		return reader{
			values: make([]any, size),
			err:    fmt.Errorf("lua: a reply of %d values was expected, not %v", size, reply),
		}
	}
	return reader{values: values}
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) int(i int) int64 {
	n, ok := r.values[i].(int64)
	if !ok {
		r.fail(fmt.Errorf("lua: value %d of a reply is not an integer: %v", i, r.values[i]))
	}
	return n
}

func (r *reader) text(i int) string {
	s, ok := r.values[i].(string)
	if !ok {
		r.fail(fmt.Errorf("lua: value %d of a reply is not a text: %v", i, r.values[i]))
	}
	return s
}

func (r *reader) status(i int) Status { return Status(r.int(i)) }

// fence reads a fencing token: a number, or a string if the number is too large for Lua or the stored text is passed
// on, or nothing if none is stored.
func (r *reader) fence(i int) int64 {
	switch v := r.values[i].(type) {
	case nil:
		return 0
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			r.fail(&conflictError{reason: "the fencing token is not an integer", cause: err})
		}
		return n
	default:
		return r.int(i)
	}
}

// ttl reads a TTL in milliseconds. One of more than 292 years, which a Duration cannot hold, is shortened, which does
// no harm.
func (r *reader) ttl(i int) time.Duration { return milliseconds(r.int(i)) }

func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// EnqueueReply is the answer of a script that registers waiters.
type EnqueueReply = store.EnqueueReply

// ConfirmReply is the answer to [FairConfirm].
type ConfirmReply = store.ConfirmReply
