package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/zklock"
)

// The function runs with the lock held, or not at all. Its context ends if the lock is lost.
func Example() {
	ctx := context.Background()
	servers := strings.Split(os.Getenv("ZOOKEEPER_SERVERS"), ",") // all members of the ensemble
	client, err := zklock.NewClient(servers, nil)                 // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	order := client.Lock("order:1001")
	err = order.Do(ctx, func(ctx context.Context) error {
		hold, err := order.Held(ctx)
		if err != nil {
			return err
		}
		fmt.Println("nobody else works on this order; there is a fencing token:", hold.Fence > 0)
		return order.Do(ctx, func(context.Context) error { // with this ctx it re-enters
			fmt.Println("locked twice")
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// nobody else works on this order; there is a fencing token: true
	// locked twice
	// <nil>
}

// After older data were restored, a program that the operator runs raises the base of tokens, before any other client
// starts. Then every new token is above those that storage has seen.
func ExampleRebase() {
	ctx := context.Background()
	client, err := zklock.NewClient(strings.Split(os.Getenv("ZOOKEEPER_SERVERS"), ","), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	token := func() (fence int64) {
		l := client.Lock("report")
		err := l.Do(ctx, func(ctx context.Context) error {
			hold, err := l.Held(ctx)
			fence = hold.Fence
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
		return fence
	}

	before := token()
	if err := zklock.Rebase(ctx, client); err != nil {
		log.Fatal(err)
	}
	fmt.Println("tokens are above by at least 2^45:", token()-before >= 1<<45)
	// Output:
	// tokens are above by at least 2^45: true
}

// Check says whether a ZooKeeper suits locks. Print its findings when a program starts, or in a command of yours. This
// one is one server, whose loss no lock survives.
func ExampleCheck() {
	ctx := context.Background()
	client, err := zklock.NewClient(strings.Split(os.Getenv("ZOOKEEPER_SERVERS"), ","), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	for _, finding := range zklock.Check(ctx, client) {
		if finding.Level == lock.LevelFailure {
			fmt.Println("no locks here:", finding.Text)
		}
		if finding.Name == "servers" {
			fmt.Println(finding.Level, finding.Text)
		}
	}
	// Output:
	// warning name at least three servers, so that locks survive the loss of one: the client knows 1
}

// List tells which locks are held, and how many clients wait for each.
func ExampleList() {
	ctx := context.Background()
	client, err := zklock.NewClient(strings.Split(os.Getenv("ZOOKEEPER_SERVERS"), ","), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_ = client.Lock("printer:1").Do(ctx, func(context.Context) error { return nil }) // it leaves nothing
	_ = client.Lock("printer:2").Do(ctx, func(ctx context.Context) error {
		for entry, err := range zklock.List(ctx, client, "printer:") {
			if err != nil {
				return err
			}
			fmt.Println(entry.Name, "is held by this client:", entry.Holders[0].Mine, "and waited for by", entry.Waiters)
		}
		return nil
	})
	// Output:
	// printer:2 is held by this client: true and waited for by 0
}

// Several names are locked as one: all of them, or none. Callers that list them in different orders do not deadlock.
func Example_severalLocks() {
	ctx := context.Background()
	client, err := zklock.NewClient(strings.Split(os.Getenv("ZOOKEEPER_SERVERS"), ","), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	transfer := multilock.New([]*lock.Lock{client.Lock("account:17"), client.Lock("account:42")})
	err = transfer.Do(ctx, func(ctx context.Context) error {
		holds, err := transfer.Held(ctx)
		for i, name := range transfer.Names() {
			fmt.Println(name, "is locked, with a token of its own:", holds[i].Fence > 0)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// account:17 is locked, with a token of its own: true
	// account:42 is locked, with a token of its own: true
	// <nil>
}

// Every replica runs this. One leads, the others wait, and succeed it in the order in which they came.
func Example_leader() {
	ctx := context.Background()
	client, err := zklock.NewClient(strings.Split(os.Getenv("ZOOKEEPER_SERVERS"), ","), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	election := leader.New(client.Lock("scheduler"), leader.Value("10.0.0.1:80"))
	err = election.Run(ctx, func(term context.Context) error {
		who, err := election.Current(term) // or in any other process
		fmt.Println("leading:", who.Value)
		return err // a real leader works until term ends
	})
	fmt.Println(err)
	_, err = election.Current(ctx)
	fmt.Println(errors.Is(err, leader.ErrNoLeader))
	// Output:
	// leading: 10.0.0.1:80
	// <nil>
	// true
}
