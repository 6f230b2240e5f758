package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

// process is a replica that was started.
type process struct {
	cmd   *exec.Cmd
	input io.Closer // it resigns when this is closed
	once  sync.Once
	err   error
}

// start starts a replica, which is this program.
func start(ctx context.Context, url, name, address string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), urlEnv+"="+url, nameEnv+"="+name, addressEnv+"="+address)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &process{cmd: cmd, input: input}, cmd.Start()
}

// stop has it resign, and waits until it has ended.
func (p *process) stop() error {
	p.once.Do(func() { p.err = errors.Join(p.input.Close(), p.cmd.Wait()) })
	return p.err
}

// kill ends it as a crash does, if it has not ended.
func (p *process) kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // it was killed, as intended
	})
}

// replica campaigns until its input is closed, and then resigns.
func replica(ctx context.Context) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	rdb, client, err := connect(os.Getenv(urlEnv))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close(), rdb.Close()) }()
	guard, err := fence.NewRedis(rdb, 0)
	if err != nil {
		return err
	}
	name, address := os.Getenv(nameEnv), os.Getenv(addressEnv)
	election := leader.New(rlock.New(client, name), leader.Value(address))
	err = election.Run(ctx, func(term context.Context) error {
		hold, err := election.Term(term)
		if err != nil {
			return err
		}
		if _, err := guard.Do(term, "journal:"+name, hold.Fence, "APPEND", address+" leads\n"); err != nil {
			return err
		}
		<-term.Done() // a real leader works meanwhile
		return nil
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
