package main

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast/bench/internal/javalib"
)

// The programs of the libraries in Java. Each is built when the first cell needs it.
var (
	redisson = &javaProgram{name: "Redisson", library: javalib.Redisson}
	curator  = &javaProgram{name: "Curator", library: javalib.Curator}
)

type javaProgram struct {
	name    string
	library javalib.Library
	once    sync.Once
	program *javalib.Program // nil if it cannot be built
	err     error            // says in a sentence what is missing
}

func (j *javaProgram) get() (*javalib.Program, error) {
	j.once.Do(func() { j.program, j.err = javalib.Build(context.Background(), j.library) })
	return j.program, j.err
}

// closeJava removes what was built.
func closeJava() error { return errors.Join(redisson.close(), curator.close()) }

func (j *javaProgram) close() error {
	if j.program == nil {
		return nil
	}
	return j.program.Close()
}
