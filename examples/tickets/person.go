package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/rlock"
)

const (
	personEnv = "TICKETS_PERSON" // set for the processes that queue
	nameEnv   = "TICKETS_NAME"
)

// person queues, buys, and prints its seat. It walks away when its input ends.
func person(ctx context.Context) (err error) {
	show, err := open(os.Getenv(urlEnv), os.Getenv(nameEnv))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, show.close()) }()
	waiting, leave := context.WithCancel(ctx)
	defer leave()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	seat, err := show.sell(waiting)
	if errors.Is(err, rlock.ErrBusy) && waiting.Err() != nil {
		return nil // it left before its turn
	}
	if err != nil {
		return err
	}
	fmt.Println(seat)
	return nil
}

// visitor is a person as the window sees it.
type visitor struct {
	who  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	gone bool
}

// arrive starts a process that queues.
func arrive(ctx context.Context, url, name, who string) (*visitor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	v := &visitor{who: who, cmd: exec.Command(self)}
	v.cmd.Env = append(os.Environ(), urlEnv+"="+url, nameEnv+"="+name, personEnv+"="+who)
	v.cmd.Stderr = os.Stderr
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.out = bufio.NewReader(out)
	return v, errors.Join(ctx.Err(), v.cmd.Start())
}

// kill ends the process without warning.
func (v *visitor) kill() {
	v.gone = true
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait() // it was killed, as intended
}

// leave makes it give up, in its own time.
func (v *visitor) leave() {
	v.gone = true
	_ = v.in.Close()
	_ = v.cmd.Wait()
}

// seat returns the seat that it bought.
func (v *visitor) seat(ctx context.Context) (int, error) {
	line, err := v.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("%s was not served: %w", v.who, errors.Join(err, ctx.Err()))
	}
	return strconv.Atoi(strings.TrimSpace(line))
}
