package holdfasttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/rlock"
)

// nightly is the code under test: it works until it is done or its lock is lost.
func nightly(ctx context.Context, client *rlock.Client, work func(ctx context.Context) error) error {
	return rlock.New(client, "nightly").Do(ctx, work)
}

// untilTheEnd is work that goes on until it is told to stop.
func untilTheEnd(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// The job stops when its lock is lost.
func ExampleLab_Lose() {
	test := func(t testing.TB) {
		lab := holdfasttest.New(t)
		client := lab.Client(nil)
		done := make(chan error)
		go func() { done <- nightly(context.Background(), client, untilTheEnd) }()
		lab.Lose("nightly", rlock.LossGone) // as soon as somebody has it
		err := <-done
		fmt.Println(errors.Is(err, rlock.ErrLost))
		fmt.Println(err)
	}
	run(test)
	// Output:
	// true
	// holdfast: lock "nightly" lost: gone from the store
}

// The job leaves the work to the process that has the lock.
func ExampleLab_HoldElsewhere() {
	test := func(t testing.TB) {
		lab := holdfasttest.New(t)
		lock := rlock.New(lab.Client(nil), "nightly")
		release := lab.HoldElsewhere("nightly")
		_, _, err := lock.TryLock(context.Background())
		fmt.Println(err)
		release()
		_, unlock, err := lock.TryLock(context.Background())
		fmt.Println(err)
		fmt.Println(unlock())
	}
	run(test)
	// Output:
	// holdfast: lock "nightly" is held by another caller
	// <nil>
	// <nil>
}

// Redis hangs for longer than a lease: the job is told before another process can have the lock.
func ExampleLab_Freeze() {
	test := func(t testing.TB) {
		lab := holdfasttest.New(t)
		client := lab.Client(&rlock.ClientOptions{Lease: 30 * time.Second})
		held, unlock, err := rlock.New(client, "nightly").Lock(context.Background())
		fmt.Println(err)
		lab.Freeze()
		lab.Advance(31 * time.Second)
		fmt.Println(context.Cause(held))
		lab.Thaw()
		fmt.Println(errors.Is(unlock(), rlock.ErrLost))
	}
	run(test)
	// Output:
	// <nil>
	// holdfast: lock "nightly" lost: lease expired
	// true
}

// A forgotten unlock fails the test, and the failure names the lock.
func ExampleNew() {
	test := func(t testing.TB) {
		lab := holdfasttest.New(t)
		_, _, err := rlock.New(lab.Client(nil), "order:1001").Lock(context.Background())
		fmt.Println(err)
	}
	run(test)
	// Output:
	// <nil>
	// failed: holdfasttest: an unlock was forgotten: holdfast: closed with locks still held: ["order:1001"]
}

// run runs a test as package testing does, and prints how it fails.
func run(test func(t testing.TB)) {
	t := &exampleT{}
	test(t)
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		fn := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		fn()
	}
}

type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                           {}
func (t *exampleT) Cleanup(fn func())                 { t.cleanups = append(t.cleanups, fn) }
func (t *exampleT) Errorf(format string, args ...any) { fmt.Printf("failed: "+format+"\n", args...) }
func (t *exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
