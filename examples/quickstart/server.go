package main

import (
	"errors"
	"net/url"
	"os"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

const urlEnv = "REDIS_URL"

// server is the Redis that the demonstration runs on.
type server struct {
	url   string
	what  string
	rdb   redis.UniversalClient
	close func() error
}

// connect uses the Redis that the environment names, or starts one: in this process, where that has room for the time.
func connect() (*server, error) {
	if at := os.Getenv(urlEnv); at != "" {
		rdb, err := dial(at)
		if err != nil { // its text has the password
			return nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
		}
		return &server{url: at, what: "Redis of " + urlEnv, rdb: rdb, close: rdb.Close}, nil
	}
	if narrow {
		return startInstalled()
	}
	s, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	s.ClockTTL(true) // otherwise no key expires unless a test says so
	at := "redis://" + s.Addr()
	rdb, err := dial(at)
	if err != nil {
		return nil, err
	}
	return &server{url: at, what: "an embedded Redis-compatible server", rdb: rdb,
		close: func() error {
			defer s.Close()
			return rdb.Close()
		}}, nil
}

// dial understands URLs of a single node, of a cluster and of a Sentinel.
func dial(at string) (redis.UniversalClient, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	switch q := u.Query(); {
	case q.Has("master_name"):
		o, err := redis.ParseFailoverURL(at)
		if err != nil {
			return nil, err
		}
		return redis.NewFailoverClient(o), nil
	case q.Has("addr"):
		o, err := redis.ParseClusterURL(at)
		if err != nil {
			return nil, err
		}
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(at)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o), nil
}
