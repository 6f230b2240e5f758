// Package simulation has no code of its own. Its test runs schedules of whole clients over the store in memory for
// a minute, each with another seed; see package internal/testkit/simulation for what they do and what is checked.
package simulation
