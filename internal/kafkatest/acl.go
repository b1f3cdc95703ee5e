package kafkatest

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rights are settings of a broker that asks for rights: who connects without SASL may do everything, User what Grant has given.
func Rights() map[string]string {
	return map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:ANONYMOUS",
	}
}

// right is the right of User to an operation, such as `read` or `DESCRIBE_CONFIGS`, on a resource of a kind: topic, group, cluster, or
// txn for a transactional id.
func right(t testing.TB, operation, kind, resource string) *kadm.ACLBuilder {
	t.Helper()
	op, err := kmsg.ParseACLOperation(operation)
	if err != nil {
		t.Fatal(err)
	}
	acl := kadm.NewACLs().Allow("User:" + User).AllowHosts("*").ResourcePatternType(kadm.ACLPatternLiteral).Operations(op)
	switch kind {
	case "topic":
		return acl.Topics(resource)
	case "group":
		return acl.Groups(resource)
	case "txn", "transactional id":
		return acl.TransactionalIDs(resource)
	case "cluster":
		return acl.Clusters()
	}
	t.Fatalf("kind of resource %q", kind)
	return nil
}

// Grant gives User a right, and waits until the broker goes by it.
func (b *Broker) Grant(t testing.TB, operation, kind, resource string) {
	t.Helper()
	acl := right(t, operation, kind, resource)
	results, err := kadm.NewClient(b.client).CreateACLs(call(t), acl)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		t.Fatalf("grant %s on %s %s: %v", operation, kind, resource, err)
	}
	b.awaitRight(t, acl, true)
}

// Revoke takes the right away again, and waits until the broker goes by that.
func (b *Broker) Revoke(t testing.TB, operation, kind, resource string) {
	t.Helper()
	acl := right(t, operation, kind, resource)
	results, err := kadm.NewClient(b.client).DeleteACLs(call(t), acl)
	deleted := 0
	for _, r := range results {
		err = errors.Join(err, r.Err)
		deleted += len(r.Deleted)
	}
	if err != nil || deleted != 1 {
		t.Fatalf("revoke %s on %s %s: %d are gone (%v)", operation, kind, resource, deleted, err)
	}
	b.awaitRight(t, acl, false)
}

// awaitRight waits until the broker, which learns of rights from the controller, has one or has not.
func (b *Broker) awaitRight(t testing.TB, acl *kadm.ACLBuilder, want bool) {
	t.Helper()
	for ctx := call(t); ; {
		results, err := kadm.NewClient(b.client).DescribeACLs(ctx, acl)
		found := 0
		for _, r := range results {
			err = errors.Join(err, r.Err)
			found += len(r.Described)
		}
		if err != nil {
			t.Fatalf("ask for rights: %v", err)
		}
		if want == (found > 0) {
			return
		}
	}
}

// InternalTopics are the names of topics that the brokers have made for themselves.
func (b *Broker) InternalTopics(t testing.TB) []string {
	t.Helper()
	details, err := kadm.NewClient(b.client).ListTopicsWithInternal(call(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range details.Sorted() {
		if d.IsInternal {
			names = append(names, d.Topic)
		}
	}
	return names
}

// TopicID is the id of a topic.
func (b *Broker) TopicID(t testing.TB, topic string) [16]byte {
	t.Helper()
	details, err := kadm.NewClient(b.client).ListTopics(call(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	return details[topic].ID
}
