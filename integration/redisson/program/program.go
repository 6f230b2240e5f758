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
	"regexp"
	"strconv"
	"sync"
	"time"
)

const (
	minJava = 17

	// buildLimit is for the first time, when Maven fetches Redisson, its dependencies, and its own plugins.
	buildLimit = 6 * time.Minute
)

// ClassPath builds the programs, if this process has not yet, and returns java's class path. An error says in a
// sentence what is missing; [Missing] tells beforehand.
var ClassPath = sync.OnceValues(func() (string, error) {
	if missing := Missing(); missing != "" {
		return "", errors.New(missing)
	}
	dir, err := find()
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

// Missing says in a sentence which tool there is not; "" if the programs can be built.
var Missing = sync.OnceValue(func() string {
	if what := missing(); what != "" {
		return fmt.Sprintf("%s: Redisson needs a JDK, %d or newer, and Maven (scripts/setup-java.sh installs them)",
			what, minJava)
	}
	return ""
})

func missing() string {
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
}

// find looks for the sources above the working directory, which is some folder of the repository.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		java := filepath.Join(dir, "integration", "redisson", "java")
		if _, err := os.Stat(filepath.Join(java, "pom.xml")); err == nil {
			return java, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("integration/redisson/java/pom.xml is not above the working directory")
		}
		dir = above
	}
}
