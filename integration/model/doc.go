// Package model checks an argument, not code: the argument of package redlock's doc.go about fencing tokens over a
// quorum, as a small world whose states are searched exhaustively.
package model
