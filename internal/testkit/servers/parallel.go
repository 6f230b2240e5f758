package servers

import (
	"flag"
	"strconv"
)

// InParallel has up to n tests of a package run at a time, however few processors there are, because they mostly wait.
// An explicit -parallel takes precedence. Its TestMain calls this first.
func InParallel(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
