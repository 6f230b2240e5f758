package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// narrow reports a 32-bit system. There the embedded server keeps numbers in 32 bits, in which neither the time nor a
// fencing token has room, so no lock works on it.
const narrow = strconv.IntSize == 32

var errNoServer = errors.New("on a 32-bit system this needs a real Redis: install redis-server or valkey-server, or " +
	"set " + urlEnv + " (the embedded server keeps numbers in 32 bits there, and the time has more)")

// startInstalled starts the Redis or Valkey that is installed. It keeps nothing on the disk, and listens only on a
// socket in a folder of its own.
func startInstalled() (s *server, err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		program, err = exec.LookPath("valkey-server")
	}
	if err != nil {
		return nil, errNoServer
	}
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	s = &server{
		url: "unix://" + socket, what: "the " + filepath.Base(program) + " that is installed", rdb: rdb,
		close: func() error {
			err := errors.Join(rdb.Close(), cmd.Process.Kill())
			_ = cmd.Wait() // says that it was killed
			return errors.Join(err, os.RemoveAll(dir))
		},
	}
	if err := answers(rdb); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// answers waits until a server that was started answers.
func answers(rdb *redis.Client) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for err = rdb.Ping(ctx).Err(); err != nil && ctx.Err() == nil; err = rdb.Ping(ctx).Err() {
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
