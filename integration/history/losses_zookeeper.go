package history

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// zookeeperLosses are what an operator can take away on ZooKeeper. What a majority has agreed on is not forgotten
// otherwise.
var zookeeperLosses = []fault{
	{"holder's node deleted", losing(deleteHoldersNode)},
	{"all nodes of a name deleted", losing(deleteNodes)},
	{"all nodes deleted", losing(deleteAllNodes)},
	{"base of tokens deleted", losing(deleteBaseNode)},
	{"client's session ended", endSession},
}

// deleteHoldersNode deletes the node that stands first below a name. As long as it is there, its owner holds the lock.
func deleteHoldersNode(r *run, random *rand.Rand) (name string, lost bool, err error) {
	name = names[random.IntN(len(names))]
	nodes, err := r.zookeeper().standing(name)
	if err == nil && len(nodes) > 0 {
		lost, err = r.zookeeper().admin.Delete(nodes[0])
	}
	return name, lost, err
}

func deleteNodes(r *run, random *rand.Rand) (name string, lost bool, err error) {
	name = names[random.IntN(len(names))]
	nodes, err := r.zookeeper().standing(name)
	if err == nil {
		lost, err = r.zookeeper().remove(nodes)
	}
	return name, lost, err
}

func deleteAllNodes(r *run, _ *rand.Rand) (name string, lost bool, err error) {
	nodes, err := r.zookeeper().held()
	if err == nil {
		lost, err = r.zookeeper().remove(nodes)
	}
	return "", lost, err
}

// remove deletes nodes, and reports whether any was there.
func (g *zookeeperGround) remove(nodes []string) (lost bool, err error) {
	for i := 0; i < len(nodes) && err == nil; i++ {
		var done bool
		done, err = g.admin.Delete(nodes[i])
		lost = lost || done
	}
	return lost, err
}

// deleteBaseNode deletes the base of tokens. The client that misses it makes another, which is no lower than what it
// knew.
func deleteBaseNode(r *run, _ *rand.Rand) (name string, lost bool, err error) {
	_, err = r.zookeeper().admin.Delete("/holdfast/base")
	return "", false, err
}

// endSession ends the session of the client that holds a lock, and with it all its holds.
func endSession(r *run, random *rand.Rand) int {
	nodes, err := r.zookeeper().standing(names[random.IntN(len(names))])
	if err == nil && len(nodes) == 0 {
		return 0
	}
	var id string
	var session int64
	if err == nil {
		id, session, err = ownerOf(nodes[0])
	}
	if err != nil {
		r.fail(err)
		return 0
	}
	process := r.record.process(id)
	if process == "" {
		return 0 // it has held nothing yet
	}
	from := stamp.Now()
	done, err := r.zookeeper().admin.End(session)
	if err != nil {
		r.fail(err)
	}
	if !done {
		return 0
	}
	r.record.lost(Loss{Of: process, From: from, Until: stamp.Now(), Certain: true})
	return 1
}

// ownerOf is the id whose node has a path, and the number of its session, which are in the node's name.
func ownerOf(node string) (id string, session int64, err error) {
	head, _, _ := strings.Cut(path.Base(node), "-lock-")
	dot := strings.LastIndexByte(head, '.')
	if dot < 0 {
		return "", 0, fmt.Errorf("history: %q is no node of a client of ours", node)
	}
	number, err := strconv.ParseUint(head[dot+1:], 16, 64)
	return head[:dot], int64(number), err
}
