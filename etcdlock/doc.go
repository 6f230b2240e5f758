// Package etcdlock is a fair, reentrant distributed lock on etcd. It is not finished.
package etcdlock
