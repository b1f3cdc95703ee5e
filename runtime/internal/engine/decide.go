package engine

import "context"

// Decide does of a start what settles the newest checkpoint, with Options.Decision in the place of what a start would not guess, and leaves state
// and marker so that the next start goes on. It takes the transactional ids over, as a start does.
func (e *Engine) Decide(ctx context.Context) error {
	e.board.begin(e.Spec)
	clusters, err := e.open(ctx)
	defer clusters.close()
	if err != nil {
		return err
	}
	a := &attempt{Engine: e, clusters: clusters, log: e.Options.Log, writer: newWriter(e.board.sinks)}
	inputs, err := a.topics(ctx)
	if err != nil {
		return err
	}
	s := &startup{Engine: e, clusters: clusters, inputs: inputs, anchorage: a.anchorage}
	_, err = s.run(ctx, a.writer)
	if s.sink != nil {
		s.sink.Close()
	}
	return err
}
