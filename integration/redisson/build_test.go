package redisson_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	minJava = 17

	// buildLimit is for the first time, when Maven fetches Redisson, its dependencies, and its own plugins.
	buildLimit = 6 * time.Minute
)

// built is the class path of the program in java/.
var built = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	// Only these two goals: a whole life cycle would fetch plugins for tests and jars that do not exist.
	build := exec.CommandContext(ctx, "mvn", "-q", "-B", "compiler:compile", "dependency:copy-dependencies")
	build.Dir = "java"
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the Java program in integration/redisson/java (mvn, %w, within %v):\n%s",
			err, buildLimit, out)
	}
	target := filepath.Join("java", "target")
	return filepath.Join(target, "classes") + string(os.PathListSeparator) + filepath.Join(target, "lib", "*"), nil
})

var noJava = sync.OnceValue(func() string {
	for _, program := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			return "there is no " + program
		}
	}
	out, err := exec.Command("javac", "-version").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("javac -version fails (%v)", err)
	}
	major := regexp.MustCompile(`\d+`).Find(out)
	if n, err := strconv.Atoi(string(major)); err != nil || n < minJava {
		return fmt.Sprintf("javac -version says %q", out)
	}
	return ""
})

// classPath builds the program, if this run has not yet, and returns java's class path.
func classPath(t *testing.T) string {
	t.Helper()
	if missing := noJava(); missing != "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI is set, but %s: Redisson needs a JDK, %d or newer, and Maven", missing, minJava)
		}
		t.Skipf("not run: %s; Redisson needs a JDK, %d or newer, and Maven (scripts/setup-java.sh installs them)",
			missing, minJava)
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
