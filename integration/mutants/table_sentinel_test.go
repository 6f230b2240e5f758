package mutants

// Mutants of the trust in a primary that Sentinels watch.
func init() {
	const links = "internal/redisstore/links"
	table = append(table, []mutant{
		{
			name: "Sentinel: a replica that is gone need not confirm",
			file: links + "/trust.go",
			old:  `r.received(t.replicas, t.moments[i].offset)`,
			new:  `r.received(r.replicas, t.moments[i].offset)`,
			in:   links, by: "^TestAPrimaryIsBelievedInWhileItsReplicasConfirm$",
		}, {
			name: "Sentinel: trust lasts from the answer, not from what it confirms",
			file: links + "/trust.go",
			old:  `t.confirm(t.moments[i].at)`,
			new:  `t.confirm(at)`,
			in:   links, by: "^TestTrustLastsFromTheMomentThatIsConfirmed$",
		}, {
			name: "Sentinel: a server that is no master any more is trusted on",
			file: links + "/trust.go",
			old:  `t.confirmed = time.Time{}`,
			new:  `t.role = nil`,
			in:   links, by: "^TestAPrimaryIsBelievedInWhileItsReplicasConfirm$",
		}, {
			name: "Sentinel: an empty server that calls itself a master is taken for a promoted replica",
			file: links + "/primary.go",
			old:  ` || role.offset < offset`,
			new:  ` || offset < 0`,
			in:   links, by: "^TestAPromotedReplicaIsFoundWithoutASentinel$",
		}, {
			name: "Sentinel: each caller asks for itself",
			file: links + "/sentinels.go",
			old:  `s.one.DoChan("",`,
			new:  `s.one.DoChan(time.Now().String(),`,
			in:   links, by: "^TestAQuestionOutlivesItsCallers$",
		}, {
			name: "Sentinel: a connection that no caller waits for stays open",
			file: links + "/primary.go",
			old:  `if p.waiting == 0 || p.fresh != nil {`,
			new:  `if p.fresh != nil {`,
			in:   links, by: "^TestAQuestionsConnectionIsOneCallers$",
		},
	}...)
}
