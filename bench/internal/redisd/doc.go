// Package redisd starts Redis servers that belong to a measurement, and asks them what they have done.
//
// A server is a child process on a free loopback port that keeps nothing on disk. It is the program that
// HOLDFAST_REDIS_SERVER names, or redis-server or valkey-server from PATH. Nothing else ever talks to it,
// so the counters of INFO are those of the measurement alone.
package redisd
