package rlock_test

import (
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/embedded"
	"github.com/holdfast-go/holdfast/rlock"
)

// exampleRedis starts a Redis inside this process, so that the examples run anywhere. An application
// has its own: redis.NewClient, redis.NewFailoverClient or redis.NewClusterClient.
func exampleRedis() (rdb *redis.Client, end func()) {
	server, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return rdb, func() {
		_ = rdb.Close()
		server.Close()
	}
}

// exampleClient is a Client of such a Redis, with the default options.
func exampleClient() (client *rlock.Client, end func()) {
	rdb, stop := exampleRedis()
	client, err := rlock.NewClient(rdb, nil)
	if err != nil {
		panic(err)
	}
	return client, func() {
		_ = client.Close()
		stop()
	}
}
