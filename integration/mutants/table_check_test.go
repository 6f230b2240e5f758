package mutants

// Mutants of the check that compares a client with its server.
func init() {
	table = append(table, []mutant{
		{
			name: "a check does not mind a replica that does not confirm",
			file: "operate/internal/checkup/server.go",
			old:  `case online > c.MinReplicas:`,
			new:  `case online > c.MinReplicas+9:`,
			in:   "operate", by: "^TestCheckComparesMinReplicasWithTheReplicas$",
		}, {
			name: "a check does not mind that clients are evicted",
			file: "operate/internal/checkup/server.go",
			old:  `case limit == "" || limit == "0":`,
			new:  `case limit != "none":`,
			in:   "operate", by: "^TestCheckOfAServerThatEvictsClients$",
		}, {
			name: "a check warns of the eviction of clients that are spared",
			file: "operate/internal/checkup/server.go",
			old:  `case spared.MatchString(told):`,
			new:  `case told == "spared":`,
			in:   "operate", by: "^TestCheckOfAServerThatEvictsClients$",
		}, {
			name: "a check does not mind a server without scripts",
			file: "operate/internal/checkup/server.go",
			old:  `case !redis.IsPermissionError(err):`,
			new:  `case err == redis.Nil:`,
			in:   "operate", by: "^TestCheckFindsWhatIsWrong$/^no_scripts$",
		},
	}...)
}
