package rlock_test

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/rlock"
)

// locker is the part of a lock that this application uses, declared where it is used.
type locker interface {
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

// fakeLock is its double for tests: no Redis, no rlock.
type fakeLock struct{ calls int }

func (f *fakeLock) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	f.calls++
	return fn(ctx)
}

// Locks have methods in types of the standard library only, so an application declares its own part of
// them and its own doubles.
func ExampleLocker() {
	client, end := exampleClient()
	defer end()

	settle := func(l locker) error {
		return l.Do(context.Background(), func(context.Context) error {
			fmt.Println("settled")
			return nil
		})
	}
	fake := &fakeLock{}
	fmt.Println(settle(rlock.New(client, "invoice:3")), settle(fake), fake.calls)
	// Output:
	// settled
	// settled
	// <nil> <nil> 1
}
