package luacall

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
	TooLate = store.TooLate // it arrived after its not-after; nothing was written
	Busy    = store.Busy    // another holds the lock; nothing was written
	Held    = store.Held    // taken by this call
	Already = store.Already // done by an earlier copy of this call; nothing was written
	Done    = store.Done    // done by this call
	Gone    = store.Gone    // the hold does not exist; nothing was written
	Apart   = store.Apart   // one of several in a script: nothing was done for it, it must be sent by itself
)

// statuses are those that a script may return. Any other is no answer: what it means for the request is unknown.
type statuses []Status

var (
	acquired = statuses{TooLate, Busy, Held, Already} // by what takes something
	released = statuses{Done, Gone}
	adopted  = statuses{TooLate, Held, Already, Gone}
	minted   = statuses{TooLate, Held, Gone}
	changed  = statuses{TooLate, Already, Done} // a number, by what cannot be refused
	started  = statuses{TooLate, Busy, Already, Done}
)

// of is a status of a reply.
func (known statuses) of(n int64) (Status, error) {
	for _, s := range known {
		if n == int64(s) {
			return s, nil
		}
	}
	return 0, &ReplyError{fmt.Sprintf("the status %d", n)}
}

// ReplyError is the error of a reply that the script does not give: something else than Redis answered, or Redis did
// not run the script. The outcome of the request is unknown.
type ReplyError struct{ Got string }

func (e *ReplyError) Error() string { return "lua: not a reply of the script: " + e.Got }

// errNull is the error of the reply null. To go-redis it is redis.Nil, which is among the errors that a server sends:
// but those say that a script wrote nothing.
var errNull = &ReplyError{"null"}

// unlike is the error of a value where another was expected. Of a long one it tells the beginning.
func unlike(expected string, value any) error {
	const most = 100
	text := fmt.Sprintf("%T", value)
	switch v := value.(type) {
	case []any:
		text = fmt.Sprintf("an array of %d values", len(v))
	case string:
		text = fmt.Sprintf("%q", v[:min(len(v), most)])
	case int64:
		text = strconv.FormatInt(v, 10)
	}
	return &ReplyError{text + " instead of " + expected}
}

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
			err:    unlike(fmt.Sprintf("an array of %d values", size), reply),
		}
	}
	return reader{values: values}
}

// fail keeps an error, if there is one.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) int(i int) int64 {
	n, ok := r.values[i].(int64)
	if !ok {
		r.fail(unlike("an integer", r.values[i]))
	}
	return n
}

func (r *reader) text(i int) string {
	s, ok := r.values[i].(string)
	if !ok {
		r.fail(unlike("a text", r.values[i]))
	}
	return s
}

// list reads an array of values that come in groups of that size, each of which the result reads.
func (r *reader) list(i, size int) *reader {
	values, ok := r.values[i].([]any)
	if !ok || len(values)%size != 0 {
		r.fail(unlike(fmt.Sprintf("an array in groups of %d", size), r.values[i]))
		values = nil
	}
	return &reader{values: values}
}

// count reads the count of a hold, the text of a stored field.
func (r *reader) count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail(&conflictError{reason: "the count of a hold is not an integer", cause: err})
	}
	return n
}

func (r *reader) status(i int, known statuses) Status {
	s, err := known.of(r.int(i))
	if err != nil {
		r.fail(err)
	}
	return s
}

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
// no harm. Those below zero are -1 and -2, by which Redis says that there is no expiry or no key.
func (r *reader) ttl(i int) time.Duration { return milliseconds(r.int(i)) }

func milliseconds(n int64) time.Duration {
	return time.Duration(max(min(n, math.MaxInt64/int64(time.Millisecond)), -2)) * time.Millisecond
}

// EnqueueReply is the answer of a script that registers waiters.
type EnqueueReply struct {
	store.EnqueueReply
	Now int64 // server time in µs
}
