package hold

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	errFirst  = errors.New("the first end")
	errSecond = errors.New("the second end")
	errParent = errors.New("the parent's end")
)

// cancelable is what a scope has to be like.
type cancelable struct {
	context.Context
	end, endParent func(cause error)
}

func standardOne() cancelable {
	parent, endParent := context.WithCancelCause(context.Background())
	ctx, end := context.WithCancelCause(parent)
	return cancelable{ctx, end, endParent}
}

func scopedOne() cancelable {
	parent, endParent := context.WithCancelCause(context.Background())
	s := &scope{parent: parent}
	return cancelable{s, func(cause error) { s.cancel(newEnd(cause)) }, endParent}
}

// scopeSteps are what can happen to a context, or be asked of it, with what is answered.
var scopeSteps = []struct {
	name string
	do   func(c *cancelable) any
}{
	{"ends", func(c *cancelable) any { c.end(errFirst); return nil }},
	{"ends again", func(c *cancelable) any { c.end(errSecond); return nil }},
	{"its parent ends", func(c *cancelable) any { c.endParent(errParent); return nil }},
	{"Err", func(c *cancelable) any { return c.Err() }},
	{"Cause", func(c *cancelable) any { return context.Cause(c) }},
	{"Done", func(c *cancelable) any {
		select {
		case <-c.Done():
			return c.Err()
		default:
			return nil
		}
	}},
	{"derives", func(c *cancelable) any { // and goes on with what it derived
		ctx, cancel := context.WithTimeout(c.Context, time.Hour)
		context.AfterFunc(ctx, cancel)
		c.Context = ctx
		return ctx.Err()
	}},
}

// Nothing that is asked of a level's context tells it from a standard one, in whatever order things happen: all orders
// of five steps, of which the last is a question.
func TestAScopeIsLikeAStandardContext(t *testing.T) {
	const most = 4
	orders := 0
	var after func(steps []int)
	after = func(steps []int) {
		for question := 3; question < len(scopeSteps); question++ {
			want, got, said := standardOne(), scopedOne(), ""
			for _, step := range append(steps[:len(steps):len(steps)], question) {
				said += "; " + scopeSteps[step].name
				require.Equal(t, scopeSteps[step].do(&want), scopeSteps[step].do(&got), said)
			}
			orders++
			want.end(nil)
			got.end(nil)
		}
		if len(steps) < most {
			for step := range scopeSteps {
				after(append(steps[:len(steps):len(steps)], step))
			}
		}
	}
	after(nil)
	require.Equal(t, 4*(1+7+49+343+2401), orders)
}

// A scope has the values and the deadline of its parent, and what is derived without cancellation outlives both.
func TestAScopeCarriesWhatItsParentDoes(t *testing.T) {
	type key struct{}
	at := time.Now().Add(time.Hour)
	parent, cancel := context.WithDeadline(context.WithValue(context.Background(), key{}, "value"), at)
	defer cancel()
	s := &scope{parent: parent}
	until, ok := s.Deadline()
	require.True(t, ok)
	require.Equal(t, at, until)
	require.Nil(t, s.is.Load(), "nothing was asked for that needs one")
	s.cancel(newEnd(errFirst))
	require.Equal(t, "value", s.Value(key{}), "after its end as well")
	require.NoError(t, context.WithoutCancel(s).Err())
	cancel()
	require.Equal(t, errFirst, context.Cause(s))
}

// The scope is cancelled while it asks its parent, which ends right after that. The end of the scope came first, and
// that is what it says from the first answer on.
func TestAScopeSaysFromTheFirstAnswerOnWhatCameFirst(t *testing.T) {
	parent := &lateParent{Context: context.Background()}
	s := &scope{parent: parent}
	parent.meanwhile = func() { s.cancel(newEnd(errFirst)) }
	assert.Equal(t, context.Canceled, s.Err(), "the first answer")
	assert.Equal(t, context.Canceled, s.Err(), "the second answer")
	assert.Equal(t, errFirst, context.Cause(s))
}

// lateParent ends while it is asked for the first time, after something else has happened.
type lateParent struct {
	context.Context
	meanwhile func()
	asked     int
}

func (p *lateParent) Err() error {
	p.asked++
	switch p.asked {
	case 1:
		p.meanwhile() // which asks once more, before the end
		return context.DeadlineExceeded
	case 2:
		return nil
	default:
		return context.DeadlineExceeded
	}
}

// The parent ends while a cancel has found it alive, and has not yet said so. What the scope answers then stays its answer
// (defect G10).
func TestAScopeThatIsCancelledAsItsParentEnds(t *testing.T) {
	parent, endParent := context.WithDeadline(context.Background(), time.Now())
	defer endParent()
	slow := &slowParent{Context: parent, asked: make(chan struct{}), answer: make(chan struct{})}
	s := &scope{parent: slow}
	cancelled := make(chan struct{})
	go func() {
		defer close(cancelled)
		s.cancel(newEnd(errFirst))
	}()
	<-slow.asked
	first := s.Err()
	close(slow.answer)
	<-cancelled
	require.Equal(t, context.DeadlineExceeded, first)
	require.Equal(t, first, s.Err())
	require.Equal(t, first, context.Cause(s))
}

// slowParent is over. The first caller still hears that it is not, when answer is closed.
type slowParent struct {
	context.Context
	before        atomic.Bool // it was asked
	asked, answer chan struct{}
}

func (p *slowParent) Err() error {
	if !p.before.Swap(true) {
		close(p.asked)
		<-p.answer
		return nil
	}
	return p.Context.Err()
}

// A scope may be asked by many goroutines while it ends, and all have the same answer.
func TestAScopeIsAskedWhileItEnds(t *testing.T) {
	for range 2000 {
		c := scopedOne()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if i == 0 {
					c.end(errFirst)
					assert.ErrorIs(t, c.Err(), context.Canceled, "it has ended when cancel returns")
					return
				}
				child, cancel := context.WithCancel(c)
				defer cancel()
				<-child.Done()
				assert.Equal(t, errFirst, context.Cause(child), fmt.Sprint("goroutine ", i))
			})
		}
		all.Wait()
	}
}
