// Package model checks an argument, not code: what doc.go of package redlock says of fencing tokens over a quorum,
// as a small world of which every state is looked at.
package model
