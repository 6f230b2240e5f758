package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// diary prints what happens and when.
type diary struct {
	start time.Time
	bank  *bank
}

func (d *diary) say(format string, args ...any) {
	fmt.Printf("%8.3fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}

// check prints a finding, and returns an error unless ok.
func (d *diary) check(ok bool, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if !ok {
		d.say("NOT SO: %s", what)
		return fmt.Errorf("not so: %s", what)
	}
	d.say("ok: %s", what)
	return nil
}

// work makes all clerks move money between accounts at random, and checks the total.
func (d *diary) work(ctx context.Context, staff []*clerk) error {
	began, done := time.Now(), make(chan error)
	for _, c := range staff {
		go func() {
			var err error
			for range transfers {
				from := c.random.IntN(accounts)
				to := (from + 1 + c.random.IntN(accounts-1)) % accounts
				err = errors.Join(err, c.transfer(ctx, from, to, 1+c.random.Int64N(20)))
			}
			done <- err
		}()
	}
	var err error
	for range staff {
		err = errors.Join(err, <-done)
	}
	if err != nil {
		return err
	}
	total, err := d.bank.total(ctx)
	if err != nil {
		return err
	}
	return d.check(total == accounts*opening, "%d transfers by %d clerks in %v: the total is %d",
		transfers*len(staff), len(staff), time.Since(began).Round(time.Millisecond), total)
}
