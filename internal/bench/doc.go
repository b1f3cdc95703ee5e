// Package bench measures whole programs against a real Kafka of one node: how fast the examples drain topics that were
// filled before, what that costs, and how long a result takes to a read_committed reader. `make bench`
// runs it, prints a table and writes bin/bench.json.
//
//	bench_test.go    the two benchmarks
//	data_test.go     the records that the examples are fed
//	meter_test.go    what a process has used, and how far it has read
//	report_test.go   the table and the file
//
// CPU time is that of the program alone: broker and measuring process share the machine with
// it, so records per second depend on how many cores there are, CPU-seconds per million
// records hardly do. The steady part is from 25 to 95 % of the input: without the start and the end.
package bench
