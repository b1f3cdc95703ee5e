package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Codes by what they mean to a pipeline. They are listed at https://kafka.apache.org/protocol#protocol_error_codes.
// A function returns each list, so that nobody can change it.

// fencing codes are answers to a producer whose transactional id another one has taken. A transaction that
// the broker has aborted for its age is answered with them too.
func fencing() []error {
	return []error{kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState}
}

// refuses says whether a broker answers that the client may not do what it asks.
func refuses(err error) bool {
	return among(err, []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed})
}

// refusals are answers that asking again does not change: the cluster is not as needed.
func refusals() []error {
	return []error{kerr.InvalidTransactionTimeout, kerr.UnsupportedVersion, kerr.PolicyViolation, kerr.InvalidReplicationFactor,
		kerr.InvalidPartitions, kerr.InvalidTopicException, kerr.InvalidGroupID, kerr.InvalidConfig, kerr.OffsetMetadataTooLarge,
		kerr.UnsupportedForMessageFormat, kerr.SecurityDisabled, kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism,
		kerr.IllegalSaslState}
}

// passing are answers of a coordinator that is busy or has moved: the same question is to be asked again.
// The client does so for some of them, a limited number of times.
func passing() []error {
	return []error{kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
		kerr.UnknownTopicID, kerr.RequestTimedOut, kerr.NetworkException}
}

func among(err error, codes []error) bool {
	return slices.ContainsFunc(codes, func(code error) bool { return errors.Is(err, code) })
}

// failed turns an error of the client into a failure. What was being done is a sentence with all names.
func (c *Cluster) failed(err error, what string, args ...any) error {
	var known *failure.Error
	if errors.As(err, &known) {
		return err
	}
	kind, help := failure.Transient, ""
	var lacks denied
	switch {
	case errors.Is(err, kerr.InvalidProducerIDMapping):
		// That another copy has taken the id is possible, too. The start that follows looks at the marker, and finds out.
		help = "clusters forget transactional ids that were not used for long (transactional.id.expiration.ms); the next start takes it anew"
	case among(err, fencing()):
		kind, help = failure.Fenced, "another copy of this pipeline has taken over its transactional ids: one copy runs at a time, so stop one of the two"
	case errors.As(err, &lacks):
		kind, help = failure.Cluster, fmt.Sprintf("the program needs %s: %s", lacks.Right, c.cfg.Grant(lacks.Right))
	case refuses(err):
		kind, help = failure.Cluster, "grant the program what "+rightsPage+" lists, with kafka-acls.sh"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		kind, help = failure.Cluster, c.cfg.Connection.SASL.Help()
	case among(err, refusals()):
		kind, help = failure.Cluster, "it is what the cluster is set to, or too old for: ask who runs it"
	case errors.Is(err, kerr.InvalidTimestamp):
		help = "compare the clocks of this machine and of the brokers: no record is stamped later than this machine's now, and brokers take an hour more than theirs"
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		kind, help = failure.Cluster, "check the topic with kafka-topics.sh --describe"
	case isDial(err) || errors.Is(err, context.DeadlineExceeded):
		// The client has tried until then. That it could not connect says more than that time was up.
		if last := c.dial.last(); last != nil {
			if errors.As(last.err, &known) && known.Kind != failure.Transient {
				return known
			}
			help = c.cfg.unreached(last.addr)
			if !isDial(err) { // else both say the same
				err = fmt.Errorf("%w (%w)", last.err, err)
			}
		}
	}
	return failure.New(kind, help, err, what, args...)
}

// unreached is what to do about an address that cannot be reached. That of a default is hardly the one that was meant; one that a broker
// has told is another matter.
func (cfg Config) unreached(addr string) string {
	if cfg.Unnamed != "" && slices.Contains(cfg.Brokers, addr) {
		return fmt.Sprintf("nobody has named the brokers, and %s is the default: name yours with %s", strings.Join(cfg.Brokers, ", "), cfg.Unnamed)
	}
	return fmt.Sprintf("check that the broker is up and that %s can be reached from here", addr)
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// missing is a topic that does not exist.
func missing(topic string) error {
	return failure.New(failure.Cluster, fmt.Sprintf("create it with kafka-topics.sh --create --topic %s --partitions N, or start with --create-topics", topic),
		nil, "topic %s does not exist", topic)
}

// persist asks until the answer is not a passing one, nor one of those given, for as long as ctx allows.
func persist(ctx context.Context, ask func() error, more ...error) error {
	for tries := 1; ; tries++ {
		err := ask()
		if err == nil || !among(err, passing()) && !among(err, more) && !hungUp(err) || !sleep(ctx, pause(tries)) {
			return err
		}
	}
}

// hungUp says that a broker, or what stands before it, broke a connection instead of an answer. The client takes some of that for SASL that is missing,
// and gives up. What the broker wants was found out before, so it, or the network, has a fault that passes.
func hungUp(err error) bool {
	var eof *kgo.ErrFirstReadEOF
	var op *net.OpError
	return errors.As(err, &eof) || errors.As(err, &op) && op.Op == "read"
}
