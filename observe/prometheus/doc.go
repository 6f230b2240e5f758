// Package prometheus counts what locks do, for Prometheus. Import it under a name of its own:
//
//	import lockmetrics "github.com/holdfast-go/holdfast/observe/prometheus"
//
//	metrics := lockmetrics.New(lockmetrics.Options{})
//	prometheus.MustRegister(metrics)
//	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Observer: metrics.Observer()})
//	defer metrics.Track(client)()
//
// One Metrics serves all clients of a process. The page docs/metrics.md has each metric, its labels and the alerts that
// belong to it.
//
// No metric has the name of a lock as a label, because whatever collects it keeps a series for each value. The label
// class is a name without its numbers and identifiers, of which there are at most 100: see [Options] and package
// lockclass. Kinds, outcomes and reasons are those of package lock.
//
// The counters of a class begin at zero when its first call begins, and not with the first event. Otherwise an alert on
// their increase would miss the first loss of a class, which is often the only one.
package prometheus
