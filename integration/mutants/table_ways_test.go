package mutants

// Mutants that break what is owed in every way in, in one of them, and what the application's code may do.
func init() {
	way := func(question string) string { return "^TestConformance$/^direct$/^reentrant$/^" + question + "$" }
	table = append(table, []mutant{
		{
			name: "an import has no MinHold",
			file: "internal/engine/transfer.go",
			old:  `l, ok := attach(ctx, h, call{req, observed})`,
			new: `least := *req
	least.MinHold = 0
	l, ok := attach(ctx, h, call{&least, observed})`,
			in: "internal/memstore", by: way("EveryWayInHasItsMinHold"),
		}, {
			name: "a set enters a hold again though that is refused",
			file: "multilock/multilock.go",
			old:  `req.Member = true`,
			new:  `req.Member, req.Reentry = true, engine.Enters`,
			in:   "internal/memstore", by: way("EveryWayInRefusesTheContextOfAHold"), says: "a set's Lock",
		}, {
			name: "what the store said of another process is told to nobody that waits",
			file: "internal/engine/said.go",
			old:  `case said.Spoke || facts.grants:`,
			new:  `case said.Spoke && facts.grants:`,
			in:   "internal/memstore", by: way("EveryWayInIsRefusedAlike"),
		}, {
			name: "a try of a closed client is told that nothing is held",
			file: "internal/engine/lock.go",
			old: `func (e *Engine) TryLock(ctx context.Context, req *Request) (*hold.Level, error) {
	if !e.sender.Begin() {
		return nil, e.refuse(req.Proto)`,
			new: `func (e *Engine) TryLock(ctx context.Context, req *Request) (*hold.Level, error) {
	if !e.sender.Begin() {
		return nil, e.notHeld(req.Proto)`,
			in: "internal/memstore", by: way("EveryWayInIsOverWithItsClient"),
		}, {
			name: "a try does not look whether its context is over",
			file: "internal/engine/lock.go",
			old: `func (e *Engine) tryLock(ctx context.Context, c call, under outer) (*hold.Level, error) {
	if ctx.Err() != nil {
		return nil, over(ctx, c.Proto)
	}`,
			new: `func (e *Engine) tryLock(ctx context.Context, c call, under outer) (*hold.Level, error) {`,
			in:  "internal/memstore", by: way("EveryWayInAnswersAContextThatIsOver"),
		}, {
			name: "a request holds the mutex of its name",
			file: "internal/engine/attempt.go",
			old:  `sent.reply, sent.Receipt, err = p.Acquire(ctx, &sent.ask)`,
			new: `w.key.mu.Lock()
			sent.reply, sent.Receipt, err = p.Acquire(ctx, &sent.ask)
			w.key.mu.Unlock()`,
			in: "rlock", by: "^TestConformance$/^ADialerMayUseItsClient$",
		},
	}...)
}
