package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// switchedOff starts a computer that takes two of the printers, and switches it off.
func switchedOff(ctx context.Context, url, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), urlEnv+"="+url, nameEnv+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	err = errors.Join(err, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed, as intended
	fmt.Print(line)
	fmt.Println("and is switched off; its printers come back within", lease)
	return err
}

// doomed is the computer that is switched off: a process that is killed while it prints.
func doomed(ctx context.Context) error {
	c, err := newComputer("Cem's", os.Getenv(urlEnv), os.Getenv(nameEnv), nil)
	if err != nil {
		return err
	}
	held, release, err := c.pool.Acquire(ctx, 2)
	if err != nil {
		return err
	}
	_ = release // it is renewed until the process is killed
	fmt.Println("Cem's computer prints on two printers")
	<-held.Done()
	return context.Cause(held)
}
