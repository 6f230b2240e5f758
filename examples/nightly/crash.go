package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// dies is two o'clock with a machine that begins the job, and that is killed when the others have skipped it. If the
// job has to be done in spite of a death, some machine must try again later.
func dies(ctx context.Context, url, name string, others []*machine) error {
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
	fmt.Print(line)
	err = errors.Join(err, twoOClock(ctx, others), cmd.Process.Kill())
	_ = cmd.Wait() // it was killed, as intended
	fmt.Println("machine D dies; its lock is free within", lease)
	return err
}

// doomed is the machine that dies: it begins the job, and is in the middle of it until it is killed.
func doomed(ctx context.Context) (err error) {
	m, err := newMachine("machine D", os.Getenv(urlEnv), os.Getenv(nameEnv))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	ctx, unlock, err := m.lock.TryLock(ctx)
	if err != nil {
		return err
	}
	fmt.Println(m.who, "closes the books")
	<-ctx.Done()
	return errors.Join(context.Cause(ctx), unlock())
}
