package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// lastTransfer is all that the dying clerk does: half a transfer. When the money has left one account and not reached
// the other, it prints which account it has left, and the fencing token for that.
func lastTransfer(ctx context.Context) error {
	c, err := newClerk(os.Getenv(urlEnv), os.Getenv(bankEnv))
	if err != nil {
		return err
	}
	from, to, err := c.bank.solvent(ctx)
	if err != nil {
		return err
	}
	return c.with(ctx, from, to, func(ctx context.Context, fences [2]int64) error {
		p, err := c.plan(ctx, from, to, 1)
		if err != nil {
			return err
		}
		if err := c.bank.announce(ctx, p); err != nil {
			return err
		}
		if err := c.bank.put(ctx, p.From, p.Balances[0], fences[0]); err != nil {
			return err
		}
		fmt.Println(from, fences[0])
		<-ctx.Done() // it is renewed until the process is killed
		return context.Cause(ctx)
	})
}

// death starts a clerk that dies with a transfer half done. It returns that clerk's last write: the account and the
// fencing token.
func (d *diary) death(ctx context.Context, url, name string) (account int, fence int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), urlEnv+"="+url, bankEnv+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	err = errors.Join(err, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed, as intended
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(line, &account, &fence); err != nil {
		return 0, 0, err
	}
	total, err := d.bank.total(ctx)
	if err != nil {
		return 0, 0, err
	}
	return account, fence, d.check(total == accounts*opening-1,
		"a fifth clerk, process %d, is killed with a transfer half done: the total is %d", cmd.Process.Pid, total)
}
