package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// choice is which schedules are run.
type choice struct {
	kind string // the only one, or ""
	from uint64 // the least seed
	most uint64 // how many; 0: as many as there is time for
}

// choose reads the choice from the environment:
//
//	HOLDFAST_KIND       the kind of locks. Without it, it is the one that the test is about.
//	HOLDFAST_SEED       where the schedules begin. By itself it is the only one to run, of whatever kind it is.
//	HOLDFAST_SCHEDULES  how many are run. Without it, as many as there is time for, or one where there is a seed.
//
// Which kind of locks a seed has is drawn from it, so with a kind those seeds are left out that have another one.
func choose(of string, env func(name string) string) (c choice, err error) {
	c = choice{kind: of, from: uint64(time.Now().UnixNano()) % 1e12}
	if seed := env("HOLDFAST_SEED"); seed != "" {
		if c.from, err = number("HOLDFAST_SEED", seed); err != nil {
			return c, err
		}
		c.kind, c.most = "", 1
	}
	if count := env("HOLDFAST_SCHEDULES"); count != "" {
		if c.most, err = number("HOLDFAST_SCHEDULES", count); err != nil {
			return c, err
		}
	}
	if kind := env("HOLDFAST_KIND"); kind != "" {
		c.kind = kind
	}
	if c.kind != "" && !slices.ContainsFunc(kinds, func(k *kind) bool { return k.name == c.kind }) {
		return c, fmt.Errorf("HOLDFAST_KIND: there is no kind %q", c.kind)
	}
	return c, nil
}

func number(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s: %q is no number above 0", name, text)
	}
	return n, nil
}

// next is the first seed from one on of which the schedule is of the kind.
func (c choice) next(seed uint64) uint64 {
	for c.kind != "" {
		if _, kind := drawn(seed); kind.name == c.kind {
			break
		}
		seed++
	}
	return seed
}

// drawn is where the numbers of a seed come from, and the kind of locks that it is about.
func drawn(seed uint64) (*rand.Rand, *kind) {
	random := rand.New(rand.NewPCG(seed, 0))
	return random, kinds[random.IntN(len(kinds))]
}
