package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/rlock"
)

// holderEnv makes this program a holder: it locks the name in the variable, prints its fencing token, and holds the
// lock until it is killed.
const holderEnv = "QUICKSTART_HOLDER"

func holdUntilKilled(ctx context.Context) error {
	rdb, err := dial(os.Getenv(urlEnv))
	if err != nil {
		return err
	}
	client, err := rlock.NewClient(rdb, options(nil))
	if err != nil {
		return err
	}
	lock := rlock.New(client, os.Getenv(holderEnv))
	return lock.Do(ctx, func(ctx context.Context) error {
		hold, err := lock.Held(ctx)
		if err != nil {
			return err
		}
		fmt.Println(hold.Fence)
		<-ctx.Done()
		return context.Cause(ctx)
	})
}

// startHolder starts this program again as a holder and returns its token once it holds the lock.
func (d *demo) startHolder(ctx context.Context) (*exec.Cmd, int64, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), holderEnv+"="+d.name, urlEnv+"="+d.redis.url)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	fence, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return cmd, fence, err
}
