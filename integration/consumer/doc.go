// Package consumer uses every module of the workspace as its users do: from a proxy and from outside the tree, without
// a replace directive and without the workspace. So it finds what a test inside the tree cannot see: a file that a
// module lacks, a requirement that only the workspace meets, a dependency that users would have to take with the locks.
//
// The proxy is a folder that the tests fill from the tree. All other modules come from where the go command has them.
package consumer
