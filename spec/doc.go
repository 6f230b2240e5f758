// Package spec has models of what happens between clients and a server, in Promela, and a test that has Spin visit all
// of their states. The page docs/spec.md explains them to a reader who never saw a model.
package spec
