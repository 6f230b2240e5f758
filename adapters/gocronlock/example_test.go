package gocronlock_test

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/adapters/gocronlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Every replica does this.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	scheduler, err := gocron.NewScheduler(
		gocron.WithDistributedLocker(gocronlock.New(client, "cron:", 30*time.Second)))
	if err != nil {
		log.Fatal(err)
	}
	ran := make(chan string)
	report := func() { ran <- "the report is written" }
	if _, err := scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), gocron.NewTask(report),
		gocron.WithName("report")); err != nil {
		log.Fatal(err)
	}
	scheduler.Start()
	fmt.Println(<-ran)
	if err := scheduler.Shutdown(); err != nil {
		log.Fatal(err)
	}
	// Output: the report is written
}
