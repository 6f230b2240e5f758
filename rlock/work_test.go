package rlock_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

var errDeclined = errors.New("card declined")

// What bill answers, which the guide shows.
const (
	paid    = "paid"
	unknown = "look whether it was paid, and by whom: the lock was held until some moment before pay returned"
)

// workLab is an order that is paid for under its lock, and what may happen meanwhile.
type workLab struct {
	*holdfasttest.Lab
	client *rlock.Client
	cancel context.CancelFunc // ends the caller's context
}

// workSituations: what happens while the customer pays, what paying returns, and the answer.
var workSituations = map[string]struct {
	during  func(lab *workLab)
	returns error
	answer  string
}{
	"nothing happens":                     {nil, nil, paid},
	"the card is declined":                {nil, errDeclined, "not paid: card declined"},
	"the release is unconfirmed":          {(*workLab).freeze, nil, paid},
	"declined, and unconfirmed":           {(*workLab).freeze, errDeclined, "not paid: card declined"},
	"another lock was busy":               {nil, rlock.ErrBusy, "not paid: " + rlock.ErrBusy.Error()},
	"another lock's store was silent":     {nil, rlock.ErrUnavailable, "not paid: " + rlock.ErrUnavailable.Error()},
	"a deadline of the work's own":        {nil, context.DeadlineExceeded, "not paid: context deadline exceeded"},
	"the caller's context ends, and paid": {(*workLab).end, nil, paid},
	"the caller's context ends":           {(*workLab).end, context.Canceled, "not paid: context canceled"},
	"the lock is lost, and paid":          {(*workLab).lose, nil, unknown},
	"the lock is lost":                    {(*workLab).lose, errDeclined, unknown},
	"the client is closed":                {(*workLab).shut, nil, unknown},
}

func (lab *workLab) freeze() { lab.Freeze() }
func (lab *workLab) end()    { lab.cancel() }
func (lab *workLab) lose()   { lab.Lose("order:1001", lock.LossGone) }
func (lab *workLab) shut()   { _ = lab.client.Close() }

// A caller that follows the guide's switch never takes the work's own error for one of the lock, a failure for a
// success because the release is unconfirmed as well, or work that was done for work that was not (defect G32).
func TestWhatDoSaysOfTheWork(t *testing.T) {
	for name, test := range workSituations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab, ctx := newWorkLab(t)
				pay := func(context.Context) error {
					if test.during != nil {
						test.during(lab)
					}
					return test.returns
				}
				require.Equal(t, test.answer, bill(ctx, rlock.New(lab.client, "order:1001"), pay))
				lab.Thaw()
			})
		})
	}
}

func newWorkLab(t *testing.T) (*workLab, context.Context) {
	lab := &workLab{Lab: holdfasttest.New(t)}
	lab.client = lab.Client(nil)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	lab.cancel = cancel
	return lab, ctx
}

// Work that never ran is told apart from work that ran (defect G32), and the error of a call whose context was over
// names the lock and matches nothing but that context's end (defect G33).
func TestWhatDoSaysOfWorkThatDidNotRun(t *testing.T) {
	for name, test := range map[string]struct {
		before func(lab *workLab)
		answer string
	}{
		"busy":   {func(lab *workLab) { lab.HoldElsewhere("order:1001") }, "not paid: another caller works on the order"},
		"silent": {(*workLab).freeze, "not paid: nobody knows who works on the order, try later"},
		"closed": {(*workLab).shut, `not paid: holdfast: lock "order:1001": the client is closed`},
		"over": {(*workLab).end, `not paid: holdfast: lock "order:1001" was left as it is, ` +
			`because the context had ended before the call: context canceled`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab, ctx := newWorkLab(t)
				test.before(lab)
				pay := func(context.Context) error { t.Error("the work ran"); return nil }
				order := rlock.New(lab.client, "order:1001", rlock.MaxWait(time.Second))
				require.Equal(t, test.answer, bill(ctx, order, pay))
				lab.Thaw()
			})
		})
	}
}

// The error of a call whose context was over matches that alone, whatever was called (defect G33).
func TestAContextThatWasOverIsNoWordOfTheLock(t *testing.T) {
	lab, ctx := newWorkLab(t)
	lab.end()
	order := rlock.New(lab.client, "order:1001")
	for what, err := range map[string]error{
		"Do":      order.Do(ctx, func(context.Context) error { return nil }),
		"TryLock": func() error { _, _, err := order.TryLock(ctx); return err }(),
		"Inspect": func() error { _, err := order.Inspect(ctx); return err }(),
		"Break":   order.Break(ctx),
		"permits": semaphore.New(lab.client, "order:1001").Do(ctx, 1, func(context.Context) error { return nil }),
		"a set":   multilock.New([]*rlock.Lock{order}).Do(ctx, func(context.Context) error { return nil }),
	} {
		require.ErrorIs(t, err, context.Canceled, what)
		assert.ErrorContains(t, err, `"order:1001"`, what)
		for _, word := range errorsOfAll {
			assert.NotErrorIs(t, err, word, what)
		}
	}
}

// ErrUnconfirmed says that the work was done. It is never matched by an error of work that failed, whichever lock it
// was done under, and neither is a *ReleaseError found in it; the text has both (defect G32).
func TestUnconfirmedIsNeverWorkThatFailed(t *testing.T) {
	for kind, do := range map[string]func(ctx context.Context, c *rlock.Client, fn func(context.Context) error) error{
		"lock": func(ctx context.Context, c *rlock.Client, fn func(context.Context) error) error {
			return rlock.New(c, "x").Do(ctx, fn)
		},
		"set": func(ctx context.Context, c *rlock.Client, fn func(context.Context) error) error {
			return multilock.New([]*rlock.Lock{rlock.New(c, "x"), rlock.New(c, "y")}).Do(ctx, fn)
		},
		"permits": func(ctx context.Context, c *rlock.Client, fn func(context.Context) error) error {
			s := semaphore.New(c, "x")
			return errors.Join(s.SetCapacity(ctx, 2), s.Do(ctx, 1, fn))
		},
		"by hand": func(ctx context.Context, c *rlock.Client, fn func(context.Context) error) error {
			held, unlock, err := rlock.New(c, "x").Lock(ctx)
			if err != nil {
				return err
			}
			return rlock.Join(fn(held), unlock())
		},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab, ctx := newWorkLab(t)
				err := do(ctx, lab.client, func(context.Context) error { lab.Freeze(); return errDeclined })
				require.ErrorIs(t, err, errDeclined)
				require.NotErrorIs(t, err, rlock.ErrUnconfirmed)
				var unconfirmed *rlock.ReleaseError
				require.False(t, errors.As(err, &unconfirmed))
				require.ErrorContains(t, err, "card declined; holdfast: ")
				require.ErrorContains(t, err, "unconfirmed")
				var work *rlock.WorkError
				require.ErrorAs(t, err, &work)
				require.ErrorIs(t, work.Hold, rlock.ErrUnconfirmed)
				lab.Thaw()

				err = do(ctx, lab.client, func(context.Context) error { lab.Freeze(); return nil })
				require.ErrorIs(t, err, rlock.ErrUnconfirmed)
				require.ErrorAs(t, err, &unconfirmed)
				lab.Thaw()
			})
		})
	}
}

// What a set's members came to can be a loss and an unconfirmed release at once: the loss is found beside the failure.
func TestALossIsFoundBesideAFailure(t *testing.T) {
	lost := &rlock.LostError{Name: "x", Reason: rlock.LossGone}
	err := rlock.Join(errDeclined, errors.Join(lost, &rlock.ReleaseError{Name: "y"}))
	require.ErrorIs(t, err, rlock.ErrLost)
	require.NotErrorIs(t, err, rlock.ErrUnconfirmed)
	var found *rlock.LostError
	require.ErrorAs(t, err, &found)
	require.Same(t, lost, found)
	require.NoError(t, rlock.Join(nil, nil))
	require.Equal(t, lost.Error(), rlock.Join(lost, lost).Error(), "told once")
	require.NotEmpty(t, new(rlock.WorkError).Error())
}

// The guide's switch is the one that is run here, line by line.
func TestTheSwitchOfTheGuideIsTheOneThatRuns(t *testing.T) {
	source, err := os.ReadFile("example_work_test.go")
	require.NoError(t, err)
	_, from, found := strings.Cut(string(source), "// bill has")
	require.True(t, found)
	function, _, found := strings.Cut(from, "\n}\n")
	require.True(t, found)
	guide, err := os.ReadFile("../docs/guide.md")
	require.NoError(t, err)
	require.Contains(t, string(guide), "```go\n// bill has"+function+"\n}\n```\n")
}
