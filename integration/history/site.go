package history

import "github.com/holdfast-go/holdfast/lock"

// ground is the site of a run: its servers, and what can be seen there of the clients.
type ground interface {
	held() ([]string, error)        // what is left of holds
	listened() ([]string, error)    // where somebody waits for messages
	connections() ([]string, error) // of clients; on etcd their leases
}

// The ground of a site, as its faults know it.
func (r *run) redis() *redisGround         { return r.ground.(*redisGround) }
func (r *run) postgres() *postgresGround   { return r.ground.(*postgresGround) }
func (r *run) etcd() *etcdGround           { return r.ground.(*etcdGround) }
func (r *run) zookeeper() *zookeeperGround { return r.ground.(*zookeeperGround) }

// build starts the servers of a run, and makes the seats of its clients.
func (r *run) build(lab *lenient) {
	for i := range clientsOfOurs {
		r.seats = append(r.seats, &seat{number: i})
	}
	if r.cfg.Java != "" {
		for i := range clientsInJava {
			r.seats = append(r.seats, &seat{number: clientsOfOurs + i, java: true})
		}
	}
	switch {
	case r.cfg.Site.postgres():
		r.ground = r.buildPostgres(lab)
	case r.cfg.Site.etcd():
		r.ground = r.buildEtcd(lab)
	case r.cfg.Site == ZooKeeper:
		r.ground = r.buildZooKeeper(lab)
	default:
		r.ground = r.buildRedis(lab)
	}
}

// dial makes the client with which a process of the run locks. Nothing else of the process knows its store.
func dial(o orders) (store lock.Provider, hangUp func() error, err error) {
	switch {
	case o.Site.postgres():
		return dialPostgres(o)
	case o.Site.etcd():
		return dialEtcd(o)
	case o.Site == ZooKeeper:
		return dialZooKeeper(o)
	case o.Site == Quorum:
		return dialQuorum(o)
	}
	return dialRedis(o)
}
