package lock_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/lock"
)

type joinKey string

// diary is an Observer of which every function writes its name down, and of which Begin and Held mark the context.
func diary(who string, written *[]string) *lock.Observer {
	note := func(format string, args ...any) { *written = append(*written, who+" "+fmt.Sprintf(format, args...)) }
	mark := func(ctx context.Context) context.Context { return context.WithValue(ctx, joinKey(who), who) }
	marks := func(ctx context.Context) string {
		return fmt.Sprintf("%v %v", ctx.Value(joinKey("a")), ctx.Value(joinKey("b")))
	}
	return &lock.Observer{
		Begin: func(ctx context.Context, c lock.Call) context.Context { note("begin %s", c.Name); return mark(ctx) },
		End:   func(ctx context.Context, _ lock.Call, _ time.Duration, err error) { note("end %s %v", marks(ctx), err) },
		Held:  func(ctx context.Context, c lock.Call) context.Context { note("held %s", c.Name); return mark(ctx) },
		Ended: func(ctx context.Context, _ lock.Call, _ time.Duration, err error) {
			note("ended %s %v", marks(ctx), err)
		},
		Command: func(c lock.Command) { note("command %s", c.Script) },
		Renewed: func(r lock.Renewal) { note("renewed %s %v", r.Name, r.Err) },
		Lost:    func(err *lock.LostError) { note("lost %s", err.Name) },
	}
}

func TestJoinedObserversAreAllTold(t *testing.T) {
	t.Parallel()
	all := func(o *lock.Observer) {
		call, err := lock.Call{Name: "x"}, errors.New("no")
		o.End(o.Begin(context.Background(), call), call, time.Second, err)
		o.Ended(o.Held(context.Background(), call), call, time.Second, err)
		o.Command(lock.Command{Script: "acquire"})
		o.Renewed(lock.Renewal{Name: "x", Err: err})
		o.Lost(&lock.LostError{Name: "x"})
	}
	var told []string
	a, b := diary("a", &told), diary("b", &told)
	all(lock.JoinObservers(nil, a, nil, b))
	assert.Equal(t, []string{
		"a begin x", "b begin x", "a end a b no", "b end a b no",
		"a held x", "b held x", "a ended a b no", "b ended a b no",
		"a command acquire", "b command acquire", "a renewed x no", "b renewed x no", "a lost x", "b lost x",
	}, told)

	told = nil
	a.Begin = func(context.Context, lock.Call) context.Context { return nil }
	b.Held = nil
	all(lock.JoinObservers(a, b))
	assert.Contains(t, told, "b end <nil> b no", "a Begin that returns nil leaves the context to the next")
	assert.Contains(t, told, "b ended a <nil> no")

	// A function that nobody has stays nil, and costs nothing. This also fails if JoinObservers forgets a field.
	none, every := reflect.ValueOf(*lock.JoinObservers()), reflect.ValueOf(*lock.JoinObservers(diary("a", &told)))
	for i := range none.NumField() {
		assert.True(t, none.Field(i).IsNil(), none.Type().Field(i).Name)
		assert.False(t, every.Field(i).IsNil(), every.Type().Field(i).Name)
	}
}
