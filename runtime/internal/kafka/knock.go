package kafka

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/secure"
)

// knock finds out, before a client connects, whether brokers are spoken to as they want to be. A port that is spoken to wrongly closes
// the connection in silence, and so does a broker that goes down: a client has to try again, for ever. Here
// the ports are asked what they speak, all at once. The error is nil if one broker is content, and if nothing is certain: then the client
// finds out. Otherwise it is of kind failure.Cluster.
func (c *Cluster) knock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answers := make(chan error, len(c.cfg.Brokers))
	for _, addr := range c.cfg.Brokers {
		go func() { answers <- c.ask(ctx, addr) }()
	}
	var refusal error
	content := false
	for range c.cfg.Brokers {
		err := <-answers
		var known *failure.Error
		switch {
		case err == nil:
			content = true
			cancel() // the others do not matter
		case refusal == nil && errors.As(err, &known) && known.Kind == failure.Cluster:
			refusal = err
		}
	}
	if content {
		return nil
	}
	return refusal
}

// ask asks one broker. An error of another kind than failure.Cluster says nothing but that there was no answer.
func (c *Cluster) ask(ctx context.Context, addr string) error {
	security := c.cfg.Connection
	if security.TLS == nil {
		err := c.greet(ctx, addr, c.dialPlain)
		if silent(err) && speaksTLS(ctx, addr) {
			return failure.New(failure.Cluster, "turn it on with --tls, or tls on in the job", nil, "the broker at %s speaks TLS, the program does not", addr)
		}
		return err
	}
	err := c.greet(ctx, addr, c.dialTLS)
	var plain tls.RecordHeaderError
	if (silent(err) || errors.As(err, &plain)) && speaksPlain(c.greet(ctx, addr, c.dialPlain)) {
		return failure.New(failure.Cluster, "use its port for TLS, or turn TLS off with --tls=false", nil, "the broker at %s does not speak TLS on this port, the program does", addr)
	}
	return untrusted(err, addr)
}

// silent says that the other side closed the connection instead of an answer, or sent something that is none.
func silent(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errNoAnswer) || errors.As(err, &op) && op.Op == "read"
}

// speaksPlain says whether a greeting was understood: it was taken, or refused by an answer.
func speaksPlain(err error) bool {
	var known *failure.Error
	return err == nil || errors.As(err, &known) && known.Kind == failure.Cluster
}

// dialPlain connects without TLS.
func (c *Cluster) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// speaksTLS says whether a port answers the first message of TLS as TLS does. Nothing is sent over the connection, so it
// does not matter whose certificate it is.
func speaksTLS(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	met := false
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
		met = true
		return errors.New("only asked")
	}}}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close() // it was never used
	}
	_, alert := alertOf(err)
	return met || alert
}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// greet does what a client does first: hello in Kafka's protocol, then SASL, or a question if the program has none.
func (c *Cluster) greet(ctx context.Context, addr string, dial dialer) error {
	used := c.cfg.Connection.SASL
	if used != nil {
		return c.handshake(ctx, addr, dial, used)
	}
	err := converse(ctx, addr, dial, question)
	if !silent(err) {
		return err
	}
	// Some brokers answer SASL that they do not want, so this alone does not decide.
	if wants := c.handshake(ctx, addr, dial, nil); wants != nil && silent(converse(ctx, addr, dial, question)) {
		return wants
	}
	return err
}

// question asks for the brokers. A broker that wants SASL before closes the connection.
func question(conn net.Conn) error {
	const version = 8 // behind it answers have another head
	ask := kmsg.NewPtrMetadataRequest()
	ask.Version, ask.Topics = version, []kmsg.MetadataRequestTopic{}
	return call(conn, ask, ask.ResponseKind())
}

// handshake says which mechanism of SASL the program will use.
func (c *Cluster) handshake(ctx context.Context, addr string, dial dialer, used *secure.SASL) error {
	return converse(ctx, addr, dial, func(conn net.Conn) error {
		ask := kmsg.NewPtrSASLHandshakeRequest()
		ask.Version, ask.Mechanism = 1, noMechanism
		if used != nil {
			ask.Mechanism = string(used.Mechanism)
		}
		answer := kmsg.NewPtrSASLHandshakeResponse()
		if err := call(conn, ask, answer); err != nil {
			return err
		}
		return saslVerdict(addr, used, answer)
	})
}

// converse connects, says hello, and goes on as told.
func converse(ctx context.Context, addr string, dial dialer, then func(net.Conn) error) error {
	conn, err := dial(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // whoever waits for an answer gets an error
	hello := kmsg.NewPtrApiVersionsRequest()
	if err := call(conn, hello, hello.ResponseKind()); err != nil {
		return err
	}
	return then(conn)
}

// noMechanism is a name that no broker knows: one that wants SASL answers with the mechanisms that it has.
const noMechanism = "NONE"

// saslVerdict judges the answer to the mechanism that was asked for.
func saslVerdict(addr string, used *secure.SASL, answer *kmsg.SASLHandshakeResponse) error {
	err := kerr.ErrorForCode(answer.ErrorCode)
	offered := slices.Sorted(slices.Values(answer.SupportedMechanisms))
	has := "it has " + strings.Join(offered, ", ")
	switch {
	case used == nil && errors.Is(err, kerr.UnsupportedSaslMechanism):
		return failure.New(failure.Cluster, "say who the program is with --sasl-mechanism, or sasl in the job: "+has, nil, "the broker at %s wants SASL, the program has none", addr)
	case used != nil && errors.Is(err, kerr.UnsupportedSaslMechanism):
		return failure.New(failure.Cluster, "use one of them with --sasl-mechanism, or sasl in the job", nil, "the broker at %s does not take SASL %s: %s", addr, used.Mechanism, has)
	case used != nil && errors.Is(err, kerr.IllegalSaslState):
		return failure.New(failure.Cluster, "use its port for SASL, or turn SASL off with --sasl-mechanism none", nil, "the broker at %s does not speak SASL on this port, the program does", addr)
	}
	return nil
}

// errNoAnswer is an answer that is not Kafka's.
var errNoAnswer = errors.New("the answer is not one of Kafka")

// call sends a request and reads its answer. The frame is a length, then the correlation id, then the answer:
// https://kafka.apache.org/protocol#protocol_common.
func call(conn net.Conn, req kmsg.Request, answer kmsg.Response) error {
	const id, largest = 1, 1 << 20
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("eoc")).AppendRequest(nil, req, id)); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 4 || length > largest || binary.BigEndian.Uint32(head[4:]) != id {
		return errNoAnswer
	}
	body := make([]byte, length-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return err
	}
	answer.SetVersion(req.GetVersion())
	if err := answer.ReadFrom(body); err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return nil
}
