package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// node is a Redis server that this program started, without data on disk, and a client of it.
type node struct {
	number int
	port   int
	rdb    *redis.Client
	cmd    *exec.Cmd
}

// startNode starts a server on a free port of this machine.
func startNode(ctx context.Context, number int) (*node, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &node{number: number, port: free.Addr().(*net.TCPAddr).Port}
	if err := free.Close(); err != nil {
		return nil, err
	}
	n.rdb = redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", n.port)})
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.rdb.Close())
	}
	return n, nil
}

// program finds the server program.
func program() (string, error) {
	if path := os.Getenv("HOLDFAST_REDIS_SERVER"); path != "" {
		return path, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither redis-server nor valkey-server is on PATH; install one, " +
		"or name it in HOLDFAST_REDIS_SERVER")
}

// start starts the server and returns when it answers.
func (n *node) start(ctx context.Context) error {
	path, err := program()
	if err != nil {
		return err
	}
	n.cmd = exec.CommandContext(ctx, path, "--port", strconv.Itoa(n.port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--daemonize", "no")
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for {
		conn, err := net.DialTimeout("tcp", n.rdb.Options().Addr, time.Second)
		if err == nil {
			_ = conn.Close()
			return n.rdb.Ping(ctx).Err()
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			return fmt.Errorf("node %d did not start: %w", n.number, err)
		}
	}
}

func (n *node) running() bool { return n.cmd != nil }

// kill ends the server with SIGKILL: its data is gone.
func (n *node) kill() error {
	if n.cmd == nil {
		return nil
	}
	err := n.cmd.Process.Kill()
	_ = n.cmd.Wait() // it was killed, as intended
	n.cmd = nil
	return err
}

// freeze stops the server: its connections stay open, and it executes nothing.
func (n *node) freeze() error { return n.cmd.Process.Signal(syscall.SIGSTOP) }

// thaw lets it run again.
func (n *node) thaw() error { return n.cmd.Process.Signal(syscall.SIGCONT) }

func (n *node) close() error { return errors.Join(n.kill(), n.rdb.Close()) }
