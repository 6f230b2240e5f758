// Package cli is the command line of holdfast: a root command with the flags that all commands share, and a file for
// each command.
//
// A command gets its connection from [globals.connect], prints its result with [globals.print], and returns an error;
// [Main] prints the error and turns it into an exit code (exit.go).
package cli
