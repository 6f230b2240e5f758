// Package commandline runs the tests of cmd/holdfast that take long.
package commandline
