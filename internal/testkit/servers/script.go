package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// RunScript runs a script of the repository's folder scripts, in which the process must be somewhere, as the tests of a
// package are. It returns the last line that the script prints. The error has what the script says.
func RunScript(name string, args ...string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	script := filepath.Join("scripts", name)
	for {
		path := filepath.Join(dir, script)
		if _, err := os.Stat(path); err == nil {
			return lastLine(exec.Command(path, args...))
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("the tests do not run in the repository: there is no %s", script)
		}
		dir = filepath.Dir(dir)
	}
}

func lastLine(cmd *exec.Cmd) (string, error) {
	said, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return "", fmt.Errorf("%s: %w: %s%s", cmd.Path, err, said, failed.Stderr)
		}
		return "", err
	}
	text := strings.TrimSpace(string(said))
	return text[strings.LastIndexByte(text, '\n')+1:], nil
}
