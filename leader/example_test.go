package leader_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

// Every replica runs this. One leads, the others wait.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")})
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	election := leader.New(rlock.New(client, "scheduler"), leader.Value("10.0.0.1:80"))
	err = election.Run(context.Background(), func(term context.Context) error {
		who, err := election.Current(term) // or in any other process
		fmt.Println("leading:", who.Value)
		return err // a real leader works until term ends
	})
	fmt.Println(err)
	_, err = election.Current(context.Background())
	fmt.Println(errors.Is(err, leader.ErrNoLeader))
	// Output:
	// leading: 10.0.0.1:80
	// <nil>
	// true
}
