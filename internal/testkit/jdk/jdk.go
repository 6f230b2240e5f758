// Package jdk finds what it takes to run Redisson: a JDK, Maven, and the Maven project of this repository that names
// Redisson's version.
package jdk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const minJava = 17

// Missing says in a sentence which tool there is not; "" if Java programs can be built. It looks each time, since what
// is found depends on PATH, which a test may change.
func Missing() string {
	if what := missing(); what != "" {
		return fmt.Sprintf("%s: Redisson needs a JDK, %d or newer, and Maven (scripts/setup-java.sh installs them)",
			what, minJava)
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

// Project is the folder of the Maven project. It is looked for above the working directory, which is some folder of the
// repository.
func Project() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		project := filepath.Join(dir, "integration", "redisson", "java")
		if _, err := os.Stat(filepath.Join(project, "pom.xml")); err == nil {
			return project, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("integration/redisson/java/pom.xml is not above the working directory")
		}
		dir = above
	}
}
