package zookeeper

import (
	"github.com/go-zookeeper/zk"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

// goZooKeeperHolder contends by the Lock of github.com/go-zookeeper/zk.
var goZooKeeperHolder = role.New("go-zookeeper", func(o orders) {
	conn, events, err := zk.Connect(o.Servers, o.Session, zk.WithLogInfo(false))
	role.Check(err)
	for event := range events {
		if event.State == zk.StateHasSession {
			break
		}
	}
	var held *zk.Lock // a Lock locks once
	play(o.Who,
		func() error { held = zk.NewLock(conn, o.Path, zk.WorldACL(zk.PermAll)); return held.Lock() },
		func() error { return held.Unlock() })
	conn.Close()
})
