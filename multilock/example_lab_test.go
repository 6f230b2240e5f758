package multilock_test

import (
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/embedded"
	"github.com/holdfast-go/holdfast/rlock"
)

// exampleClient is a Client of a Redis inside this process, so that the examples run anywhere. An
// application has its own: redis.NewClient, redis.NewFailoverClient or redis.NewClusterClient.
func exampleClient() (client *rlock.Client, end func()) {
	server, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	client, err = rlock.NewClient(rdb, nil)
	if err != nil {
		panic(err)
	}
	return client, func() {
		_ = client.Close()
		_ = rdb.Close()
		server.Close()
	}
}
