// Package jdk builds the programs in Java of this repository, which lock by other libraries, and finds what that takes:
// a JDK, Maven, and the Maven project that names the library's version.
package jdk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const minJava = 17

// buildLimit is for the first time, when Maven fetches the library, its dependencies, and its own plugins.
const buildLimit = 6 * time.Minute

// Missing says in a sentence which tool there is not; "" if Java programs can be built. It looks each time, since what
// is found depends on PATH, which a test may change.
func Missing() string {
	if what := missing(); what != "" {
		return fmt.Sprintf("%s: programs in Java need a JDK, %d or newer, and Maven "+
			"(scripts/setup-java.sh installs them)", what, minJava)
	}
	return ""
}

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
	if n, err := strconv.Atoi(string(regexp.MustCompile(`\d+`).Find(out))); err != nil || n < minJava {
		return fmt.Sprintf("javac -version says %q", strings.TrimSpace(string(out)))
	}
	return ""
}

// Build compiles the programs of a Maven project and has Maven fetch what they need, the first time from Maven Central.
// The project is a folder of this repository. Build returns java's class path. An error says in a sentence what is
// missing; [Missing] tells beforehand.
func Build(project string) (classPath string, err error) {
	if missing := Missing(); missing != "" {
		return "", errors.New(missing)
	}
	dir, err := Project(project)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	// Only these two goals: a whole life cycle would fetch plugins for tests and jars that do not exist.
	build := exec.CommandContext(ctx, "mvn", "-q", "-B", "compiler:compile", "dependency:copy-dependencies")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the Java programs in %s (mvn, %w, within %v):\n%s",
			project, err, buildLimit, out)
	}
	target := filepath.Join(dir, "target")
	return filepath.Join(target, "classes") + string(os.PathListSeparator) + filepath.Join(target, "lib", "*"), nil
}

// Project is the path of a folder of this repository with a Maven project, such as "integration/redisson/java". It is
// looked for above the working directory, which is some folder of the repository.
func Project(project string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, project)
		if _, err := os.Stat(filepath.Join(path, "pom.xml")); err == nil {
			return path, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("%s/pom.xml is not above the working directory", project)
		}
		dir = above
	}
}
