// Command servers runs the tests that depend on a server, a client library or a platform on those that are available,
// and keeps what they said in a table:
//
//	go run ./scripts/servers [-page docs/servers.md] [-only REGEXP] [-list]
//
// A row is a subject: a server, a version of go-redis, a release of Go, or a platform. It says what the subject says of
// its own version, how many tests passed, when, and at which commit. -only selects rows; all others stay as they are.
// What is not available is "not run", with the reason; a row that was measured before, elsewhere, stays.
//
// Where a server comes from:
//
//	HOLDFAST_SERVERS_DIR  a folder that has it in a folder of its own: redis-7.2.6/redis-server is the Redis 7.2
//	                      there, valkey-8.0.1/valkey-server a Valkey 8, etcd-3.5.35, postgres-16.2/bin and
//	                      zookeeper-3.8.4, a folder of jars, likewise
//	the scripts           fetch-servers.sh, fetch-postgres.sh, setup-etcd.sh and setup-zookeeper.sh
//	the system            what the tests run on anyway
//
// One subject is run after the other. The exit code is 1 if a test failed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	page := flag.String("page", "", "write the table into this page")
	only := flag.String("only", "", "run the rows whose first column matches this regular expression")
	list := flag.Bool("list", false, "list the rows and run nothing")
	flag.Parse()
	if err := run(*page, *only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

func run(page, only string, list bool) error {
	selected, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	kept := table{}
	if page != "" {
		if kept, err = read(page); err != nil {
			return err
		}
	}
	var failed []error
	for _, s := range subjects() {
		switch {
		case list:
			fmt.Printf("%s: %s\n", s.name, s.suites)
			continue
		case !selected.MatchString(s.name):
			continue
		}
		fmt.Printf("servers: %s\n", s.name)
		fresh, err := s.row()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		kept.put(fresh)
		fmt.Println(fresh)
		if page == "" {
			continue
		}
		// After each, so that a run that is stopped has not run in vain.
		if err := write(page, kept.inOrder(subjects())); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// row runs the subject. The error says that a test failed, or that they could not be counted; that something is not
// available is none.
func (s subject) row() (row, error) {
	r := row{name: s.name, suites: s.suites}
	found, err := s.find()
	if err != nil {
		r.reason = err.Error()
		return r, nil
	}
	r.version = found.version
	r.date = time.Now().UTC().Format(time.DateOnly)
	if r.commit, err = commit(); err != nil {
		return r, err
	}
	counted, err := s.tests(found)
	r.tally = counted
	if err == nil && counted.Failed > 0 {
		err = fmt.Errorf("%d failed", counted.Failed)
	}
	return r, err
}
