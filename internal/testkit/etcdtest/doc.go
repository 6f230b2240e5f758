// Package etcdtest runs real etcd servers for tests, as package redistest runs Redis. It imports no client of etcd: a
// test brings its own, and what the package asks a server it asks by etcdctl.
//
// A test asks for what it needs and gets it on free loopback ports: one server ([Start], or [Shared] for all tests of a
// binary), one that goes on from a snapshot ([Restore]), or three that agree ([StartCluster]), of which each can be cut
// off from the others ([Cluster.Cut]). Nothing has to run beforehand and nothing is left behind: servers end with the
// test that started them and, on Linux, with the test binary itself, however it ends.
//
// The programs are those that scripts/setup-etcd.sh finds or builds: it says where it looks. If there are none, the
// test fails with a sentence that says what is missing.
//
// A server does not wait for the disk: a [Server.Kill] loses nothing that it wrote all the same, because the machine
// goes on.
package etcdtest
