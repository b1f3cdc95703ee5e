//go:build unix

package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// testVerbs asks verbs about a pipeline as its user, who has the rights of the program alone, and then those of the verbs too, which docs/operations.md lists.
func testVerbs(t *testing.T, b *kafkatest.Broker) {
	// Whatever is read leads to a result: else the logs would not say what became of a transaction.
	text := patient(replaced(t, "clicks", `status < 500 && page not in ["/health", "/metrics"]`, "status < 500 || status >= 500"))
	ofUser := func(t *testing.T, mode program.Mode) (r *run, mayRead func(may bool)) {
		p := newPipeline(t, "clicks", text, b)
		r = newRun(t, p, mode, 1, allLead(p.graph, makeLoad(p.graph, seed(t), caseRecords)))
		r.env, r.more = asUser(b), asUser(b)
		for _, g := range p.grants([]right{readSource, writeSink, readGroup, writeTxns}) {
			b.Grant(t, g.operation, g.kind, g.name)
		}
		return r, func(may bool) {
			for _, g := range p.grants([]right{readSinks}) {
				if may {
					b.Grant(t, g.operation, g.kind, g.name)
				} else {
					b.Revoke(t, g.operation, g.kind, g.name)
				}
			}
		}
	}
	t.Run("repair", func(t *testing.T) {
		r, mayRead := ofUser(t, program.Mode{})
		alive := r.halfDone(t)
		refuses(t, r, 7, []string{"READ on topic "}, "verify")
		mayRead(true)
		r.tear(t, alive, "")
		mayRead(false)
		refuses(t, r, 7, []string{"READ on topic "}, "txn", "repair", "--yes")
		mayRead(true)
		refuses(t, r, 7, []string{"CLUSTER_ACTION"}, "txn", "repair", "--yes")
		r.procedure(t, stepLook, "next: txn repair")
		r.procedure(t, stepGrant, "readers of committed records go on")
		r.procedure(t, stepLook, "next: start the program")
		last := r.start(t)
		r.feeder.finish(t, r.pipeline, r.last)
		r.reread(t)
		r.end(t, last)
	})
	// A decision goes through a start, and takes the rights of one.
	t.Run("commit", func(t *testing.T) {
		r, mayRead := ofUser(t, failpoints)
		r.feeder.phase(r.feeder.left() / 3)
		r.dieAt(t, 0, death{point: "after-end-txn", pass: 20})
		r.abort(t)
		b.DeleteGroup(t, r.group())
		exits(t, r.start(t), 9, "txn commit", "txn abort")
		r.procedure(t, stepLook, "READ on topic ")
		mayRead(true)
		r.procedure(t, stepLook, "next: txn commit, since the logs of the sinks say so")
		mayRead(false)
		r.procedure(t, stepCommit, "done: the next start goes on from checkpoint")
		mayRead(true)
		r.finish(t)
	})
}

// refuses asks a verb that has to end with a code, and texts in what it says.
func refuses(t *testing.T, r *run, code int, texts []string, args ...string) {
	t.Helper()
	p := program.Start(t, r.binary, program.Config{Args: args, Env: append(r.environment(r.state, r.parallelism, r.interval), r.more...)})
	exits(t, p, code, texts...)
}

var acl = regexp.MustCompile(`^kafka-acls\.sh .*--(add|remove) .*--operation (\w+) --(cluster|topic|group|transactional-id)(?: (\S+))?$`)

// acls does what a command of the page says about the rights of the pipeline's user.
func (r *run) acls(t testing.TB, command string) {
	t.Helper()
	m := acl.FindStringSubmatch(command)
	if m == nil {
		t.Fatalf("not understood: %s", command)
	}
	change := r.broker.Grant
	if m[1] == "remove" {
		change = r.broker.Revoke
	}
	change(t, m[2], strings.ReplaceAll(m[3], "-", " "), m[4])
}
