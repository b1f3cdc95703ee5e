package kafka

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// rightsPage lists what a program needs.
const rightsPage = "https://github.com/eoc-lang/eoc/blob/main/docs/operations.md#rights"

// Right is a permission of Kafka's ACLs: an operation on a resource.
type Right struct {
	Operation string // READ, WRITE, DESCRIBE, CREATE
	Kind      string // as kafka-acls.sh has it: topic, group, transactional-id, cluster
	Name      string
}

// The kinds of resources.
const (
	ofTopic   = "topic"
	ofGroup   = "group"
	ofTxns    = "transactional-id"
	ofCluster = "cluster"
)

func (r Right) String() string {
	what := r.Kind
	if r.Kind == ofTxns {
		what = "transactional id"
	}
	return fmt.Sprintf("%s on %s %s", r.Operation, what, r.Name)
}

// Grant is the command that gives the program a right.
func (c Config) Grant(r Right) string {
	user := "NAME"
	if s := c.Connection.SASL; s != nil && s.User != "" {
		user = s.User
	}
	return fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s --operation %s --%s %s", c.Brokers[0], user, r.Operation, r.Kind, r.Name)
}

// denied is an answer of a broker that the program may not do something, with the right that it lacks.
type denied struct {
	Right
	err error
}

func (d denied) Error() string { return d.err.Error() }
func (d denied) Unwrap() error { return d.err }

// needs names the right that is missing, if err says that one is: the first of its kind. What was asked for needs them all.
func needs(err error, rights ...Right) error {
	kind := ""
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		kind = ofTopic
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		kind = ofGroup
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		kind = ofTxns
	}
	if i := slices.IndexFunc(rights, func(r Right) bool { return r.Kind == kind }); i >= 0 {
		return denied{rights[i], err}
	}
	return err
}

// use is what the pipeline does with a topic. Each of the two brings the right to DESCRIBE along.
func (c *Cluster) use(topic string) Right {
	if slices.Contains(c.cfg.Written, topic) {
		return Right{"WRITE", ofTopic, topic}
	}
	return reads(topic)
}

func reads(topic string) Right { return Right{"READ", ofTopic, topic} }

// commits is the right to commit offsets of a topic, and with them the marker that stands there.
func commits(topic string) Right { return reads(topic) }

func readsGroup(group string) Right { return Right{"READ", ofGroup, group} }

func writesTxns(id string) Right { return Right{"WRITE", ofTxns, id} }
