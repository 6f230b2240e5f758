package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// dies starts a machine that begins the job, and kills it in the middle.
func dies(ctx context.Context, url, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), urlEnv+"="+url, nightEnv+"="+name)
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
	fmt.Println("and dies; another takes over within", lease)
	return err
}

// doomed is the machine that dies: it runs the job like the others, and is killed meanwhile.
func doomed(ctx context.Context) error {
	return oneMachine(ctx, "machine D", os.Getenv(urlEnv), os.Getenv(nightEnv))
}
