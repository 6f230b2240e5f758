package servers

import (
	"errors"
	"io"
	"os/exec"
	"strconv"
)

// keeper continues frozen processes when the test binary ends before it has done so. The kernel kills a server with the
// binary, but not what that had started, which ends by itself when it runs and sees that its parent is gone.
type keeper struct {
	cmd  *exec.Cmd
	life io.Closer // closed by the kernel with the binary at the latest
}

func newKeeper(pids []int) (*keeper, error) {
	args := []string{"-c", `read -r _; kill -CONT "$@" 2>/dev/null; true`, "keeper"}
	for _, pid := range pids {
		args = append(args, strconv.Itoa(pid))
	}
	cmd := exec.Command("sh", args...)
	life, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &keeper{cmd, life}, cmd.Start()
}

// keep replaces the keeper, if there is one. A signal of the one that ends changes nothing: its processes were
// continued or killed already.
func (p *Process) keep(next *keeper) {
	p.mu.Lock()
	last := p.keeper
	p.keeper = next
	p.mu.Unlock()
	if last != nil {
		_ = errors.Join(last.life.Close(), last.cmd.Wait())
	}
}
