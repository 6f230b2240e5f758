package mutants

// Mutants of what is waited for after a write.
func init() {
	const fsync = "^(TestARenewalThatIsNotOnDiskDoesNotCount|TestAReplicaWithoutAFileConfirmsNothingOnDisk)$"
	table = append(table, []mutant{
		{
			name: "WAIT is sent where WAITAOF is asked for",
			file: "internal/redisstore/confirm.go",
			old:  "\tif c.Fsync {\n",
			new:  "\tif c.Fsync && c.Replicas > 9 {\n",
			in:   "integration", by: fsync,
		}, {
			name: "Fsync without replicas waits for nothing",
			file: "internal/redisstore/confirm.go",
			old:  `return c.Replicas > 0 || c.Fsync`,
			new:  `return c.Replicas > 0`,
			in:   "integration", by: fsync,
		}, {
			name: "nobody looks whether the primary has it on its disk",
			file: "internal/store/fault.go",
			old:  ` || s.Fsync && !s.Primary`,
			new:  ``,
			in:   "integration", by: fsync,
		}, {
			name: "renewals are not confirmed",
			file: "internal/redisstore/renew.go",
			old:  `if s.confirm.asked() {`,
			new:  `if s.confirm.Replicas > 9 {`,
			in:   "integration", by: fsync,
		}, {
			name: "each script of a batch of renewals is confirmed by itself",
			file: "internal/redisstore/renew.go",
			old:  `at[node] = append(at[node], g)`,
			new:  `s.renewOn(ctx, node, []*group{g})`,
			in:   "internal/redisstore", by: "^TestABatchOfRenewalsIsConfirmedOnce$",
		}, {
			name: "renewals that were not confirmed count",
			file: "internal/redisstore/renew.go",
			old:  "\tfor _, g := range done {\n",
			new:  "\tfor _, g := range done[:0] {\n",
			in:   "internal/redisstore", by: "^TestABatchOfRenewalsIsConfirmedOnce$",
		}, {
			name: "a renewal that is confirmed does not follow its slot",
			file: "internal/redisstore/renew.go",
			old:  `links.Redirected(c.Err); redirected {`,
			new:  `links.Redirected(c.Err); redirected && c.Err == nil {`,
			in:   "integration", by: "^TestReplicatedHoldsLiveThroughASlotMigration$",
		}, {
			name: "a refused WAITAOF is taken for a refused script",
			file: "internal/redisstore/store.go",
			old:  `luacall.Refused(err) && !errors.As(err, &short)`,
			new:  `luacall.Refused(err) || errors.As(err, &short)`,
			in:   "integration", by: "^TestFsyncOfAServerThatCannotTell$",
		}, {
			name: "a check does not ask for what Fsync needs",
			file: "operate/internal/checkup/server.go",
			old:  "\tcase c.Fsync:\n",
			new:  "\tcase c.Fsync && c.MinReplicas > 9:\n",
			in:   "operate", by: "^TestCheckOfFsync$",
		},
	}...)
}
