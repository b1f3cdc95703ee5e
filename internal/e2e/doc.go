// Package e2e proves exactly once from outside: it builds the examples with eoc, runs their programs against a
// real Kafka, kills them at every crash point and at random moments, and compares what a read_committed
// reader sees with the answer of internal/reference. Everything is in its tests:
//
//	matrix_test.go    the crash matrix: which example dies where, on which transactions
//	schedule_test.go  the deaths of one run, and what has to happen before each
//	run_test.go       one run: a program that is started, dies, is started again, and stops
//	feed_test.go      the feeder that writes the input while the program lives and dies
//	input_test.go     what it writes, and the answer of the reference
//	judge_test.go     what a run has to leave behind
//	pipeline_test.go  an example on topics of its own, with its plan for the reference
//
// Beside it stand matrices of other faults:
//
//	recover_test.go   starts that die, twice in a row at each of their steps
//	nodes_test.go     nodes of a cluster of three that die in each phase of a checkpoint
//	clock_linux_amd64_test.go  clocks that jump while a program runs
//	copies_test.go    programs that are paused in each phase and find a successor at work; copies of a program and of its state
//
// The soak makes faults of all kinds at random, for a given time (docs/soak.md):
//
//	soakplan_test.go    the schedule, which is a function of the seed
//	soakrun_test.go     how each kind of fault is carried out
//	soakledger_test.go  what has happened: the progress line and the record
//	soak_test.go        where it goes on, and for how long
//
// The rest are single cases, a file per subject. `make test` runs a selection of the matrices and 20 s of the soak,
// `make matrix` (EO_MATRIX=1) all of them, `make soak` as much as one likes.
package e2e
