package zookeeper

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
)

func TestMain(m *testing.M) {
	role.Play()
	servers.InParallel(2) // each has three servers, which must not take one another for dead
	zktest.Main(m)
}
