// Package program builds the programs in integration/redisson/java, which lock by Redisson. Maven fetches Redisson from
// Maven Central the first time.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/jdk"
)

// buildLimit is for the first time, when Maven fetches Redisson, its dependencies, and its own plugins.
const buildLimit = 6 * time.Minute

// ClassPath builds the programs, if this process has not yet, and returns java's class path. An error says in a
// sentence what is missing; [jdk.Missing] tells beforehand.
var ClassPath = sync.OnceValues(func() (string, error) {
	if missing := jdk.Missing(); missing != "" {
		return "", errors.New(missing)
	}
	dir, err := jdk.Project()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	// Only these two goals: a whole life cycle would fetch plugins for tests and jars that do not exist.
	build := exec.CommandContext(ctx, "mvn", "-q", "-B", "compiler:compile", "dependency:copy-dependencies")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the Java programs in integration/redisson/java (mvn, %w, within %v):\n%s",
			err, buildLimit, out)
	}
	target := filepath.Join(dir, "target")
	return filepath.Join(target, "classes") + string(os.PathListSeparator) + filepath.Join(target, "lib", "*"), nil
})
