// Package seeds has one mistake in each function: all that are found are marked, and those of unfound.go are not found.
package seeds

import "context"

func work(context.Context, ...any) error { return nil }

func work0(context.Context) error { return nil }

// store is what an application keeps its data in.
type store struct{}

func (store) InTx(_ context.Context, fn func() error) error { return fn() }
