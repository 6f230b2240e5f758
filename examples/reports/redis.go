package main

import (
	"errors"
	"os"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

const urlEnv = "REDIS_URL"

// connect uses the Redis that the environment names, or starts one in this process.
func connect() (rdb redis.UniversalClient, what string, end func() error, err error) {
	if at := os.Getenv(urlEnv); at != "" {
		o, err := redis.ParseURL(at)
		if err != nil { // its text has the password
			return nil, "", nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
		}
		client := redis.NewClient(o)
		return client, "the Redis of " + urlEnv, client.Close, nil
	}
	server, err := miniredis.Run()
	if err != nil {
		return nil, "", nil, err
	}
	server.ClockTTL(true) // otherwise no key expires unless a test says so
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	return client, "an embedded Redis-compatible server", func() error {
		defer server.Close()
		return client.Close()
	}, nil
}
