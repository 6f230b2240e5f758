package main

import (
	"context"
	"sync"

	"github.com/holdfast-go/holdfast/bench/internal/redisson"
)

// java is the program of the libraries in Java. It is built when the first cell needs it.
var java = &javaProgram{}

type javaProgram struct {
	once    sync.Once
	program *redisson.Program // nil if it cannot be built
	err     error             // says in a sentence what is missing
}

func (j *javaProgram) get() (*redisson.Program, error) {
	j.once.Do(func() { j.program, j.err = redisson.Build(context.Background()) })
	return j.program, j.err
}

// close removes what was built.
func (j *javaProgram) close() error {
	if j.program == nil {
		return nil
	}
	return j.program.Close()
}
