// Package zktest runs real ZooKeeper servers for tests, as package etcdtest runs etcd. It imports no client of
// ZooKeeper: a test brings its own, and what the package asks a server it asks by the commands that
// 4lw.commands.whitelist allows.
//
// A test asks for what it needs and gets it on free loopback ports: one server ([Start], or [Shared] for all tests of a
// binary), or several that agree ([StartEnsemble]), with a path for clients to each, and paths between them of which a
// test can silence those of one ([Ensemble.Cut]), sever or slow them. Nothing has to run beforehand and nothing is left
// behind: servers end with the test that started them and, on Linux, with the test binary itself, however it ends.
//
// The servers are those that scripts/setup-zookeeper.sh finds or fetches: it says where it looks. If there are none,
// the test fails with a sentence that says what is missing.
//
// A server does not wait for the disk: a [Server.Kill] loses nothing that it wrote all the same, because the machine
// goes on.
package zktest
