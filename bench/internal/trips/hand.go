package trips

import (
	"context"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
)

// hand takes and frees one thing, as one goroutine or thread.
type hand interface {
	take(ctx context.Context) error
	try(ctx context.Context) (bool, error)
	free(ctx context.Context) error
}

// goes is one of a library in Go.
type goes struct{ contender.Lock }

func (g goes) take(ctx context.Context) error { return g.Lock.Lock(ctx) }
func (g goes) free(context.Context) error     { return g.Lock.Unlock() }

func (g goes) try(ctx context.Context) (bool, error) {
	return g.Lock.(contender.Trier).TryLock(ctx)
}

// levels is one whose second Lock is inside the first.
type levels struct{ *contender.Nested }

func (l levels) take(ctx context.Context) error  { return l.Lock(ctx) }
func (l levels) free(context.Context) error      { return l.Unlock() }
func (levels) try(context.Context) (bool, error) { panic("not asked of it") }

// java is a thread of Redisson's.
type java struct {
	process *javalib.Process
	thread  string
	what    []string // client, kind, name
}

func (j java) take(ctx context.Context) error {
	_, err := j.process.Do(ctx, j.thread, "take", j.what...)
	return err
}

func (j java) try(ctx context.Context) (bool, error) {
	got, err := j.process.Do(ctx, j.thread, "try", j.what...)
	return got == "true", err
}

func (j java) free(ctx context.Context) error {
	_, err := j.process.Do(ctx, j.thread, "free")
	return err
}
