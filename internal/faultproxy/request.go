package faultproxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is a request on its way to a broker.
type Request struct {
	Conn     int // number of its connection, from 1 in the order in which they were made
	Key      Key
	Version  int16
	ClientID string

	id     int32 // correlation id
	frame  []byte
	body   int    // where its body begins
	target string // the broker
}

// A frame is a length of four bytes and so many bytes behind it. A request begins with its kind, version, correlation id and the name of
// its client, an answer with the correlation id. Behind these, newer versions have tagged fields:
// https://kafka.apache.org/protocol#protocol_common.
const (
	lengthBytes  = 4
	requestHead  = 2 + 2 + 4 + 2
	answerHead   = 4
	largestFrame = 100 << 20 // that brokers take (socket.request.max.bytes)
)

var errFrame = errors.New("no frame of Kafka's protocol")

// readFrame reads a frame of at least so many bytes.
func readFrame(from io.Reader, least int) ([]byte, error) {
	var length [lengthBytes]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n < least || n > largestFrame {
		return nil, errFrame
	}
	f := make([]byte, lengthBytes+n)
	copy(f, length[:])
	_, err := io.ReadFull(from, f[lengthBytes:])
	return f, err
}

// readRequest reads a request.
func readRequest(from io.Reader) (*Request, error) {
	f, err := readFrame(from, requestHead)
	if err != nil {
		return nil, err
	}
	r := &Request{frame: f}
	r.Key, r.Version = Key(binary.BigEndian.Uint16(f[4:])), int16(binary.BigEndian.Uint16(f[6:]))
	r.id = int32(binary.BigEndian.Uint32(f[8:]))
	r.body = lengthBytes + requestHead
	if n := int(int16(binary.BigEndian.Uint16(f[12:]))); n > 0 {
		if r.body+n > len(f) {
			return nil, errFrame
		}
		r.ClientID = string(f[r.body : r.body+n])
		r.body += n
	}
	if kind := r.kind(); kind != nil && kind.IsFlexible() {
		n, err := tags(f[r.body:])
		if err != nil {
			return nil, err
		}
		r.body += n
	}
	return r, nil
}

// kind is an empty request of the kind and version, nil if they are not known.
func (r *Request) kind() kmsg.Request {
	kind := r.Key.Request()
	if kind == nil || r.Version > kind.MaxVersion() {
		return nil
	}
	kind.SetVersion(r.Version)
	return kind
}

// Body is what the request says.
func (r *Request) Body() (kmsg.Request, error) {
	kind := r.kind()
	if kind == nil {
		return nil, fmt.Errorf("no %s of version %d is known", r.Key.Name(), r.Version)
	}
	return kind, kind.ReadFrom(r.frame[r.body:])
}

// answered says whether the broker answers the request: it does so unless nobody wants to know whether records were written.
func (r *Request) answered() bool {
	if r.Key != kmsg.Produce {
		return true
	}
	body, err := r.Body()
	return err != nil || body.(*kmsg.ProduceRequest).Acks != 0
}

// tagged says whether tagged fields stand in the head of an answer. That to ApiVersions has none, so that any client can read it.
func tagged(answer kmsg.Response) bool {
	return answer.IsFlexible() && answer.Key() != kmsg.ApiVersions.Int16()
}

// encode is an answer to the request, as a frame.
func (r *Request) encode(answer kmsg.Response) []byte {
	answer.SetVersion(r.Version)
	f := binary.BigEndian.AppendUint32(make([]byte, lengthBytes), uint32(r.id))
	if tagged(answer) {
		f = append(f, 0)
	}
	f = answer.AppendTo(f)
	binary.BigEndian.PutUint32(f, uint32(len(f)-lengthBytes))
	return f
}

// decode reads an answer to the request.
func (r *Request) decode(frame []byte) (kmsg.Response, error) {
	kind := r.kind()
	if kind == nil {
		return nil, fmt.Errorf("no %s of version %d is known", r.Key.Name(), r.Version)
	}
	answer := kind.ResponseKind()
	answer.SetVersion(r.Version)
	rest := frame[lengthBytes+answerHead:]
	if tagged(answer) {
		n, err := tags(rest)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return answer, answer.ReadFrom(rest)
}

// deliver sends the request to the broker on a connection of its own.
func (r *Request) deliver(ctx context.Context) (kmsg.Response, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.target)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // whoever waits for the answer gets an error
	if _, err := conn.Write(r.frame); err != nil {
		return nil, err
	}
	answer, err := readFrame(conn, answerHead)
	if err != nil {
		return nil, err
	}
	return r.decode(answer)
}

// tags is how many bytes the tagged fields at the beginning of b take.
func tags(b []byte) (int, error) {
	at := 0
	next := func() (uint64, error) {
		n, size := binary.Uvarint(b[at:])
		if size <= 0 {
			return 0, errFrame
		}
		at += size
		return n, nil
	}
	count, err := next()
	for range count {
		if _, err = next(); err != nil { // the number of the field
			break
		}
		var size uint64
		if size, err = next(); err != nil {
			break
		}
		if size > uint64(len(b)-at) {
			return 0, errFrame
		}
		at += int(size)
	}
	return at, err
}

// TransactionalID is the transactional id that the request is about, "" if it is about none.
func (r *Request) TransactionalID() string {
	body, err := r.Body()
	if err != nil {
		return ""
	}
	var id *string
	switch body := body.(type) {
	case *kmsg.InitProducerIDRequest:
		id = body.TransactionalID
	case *kmsg.ProduceRequest:
		id = body.TransactionID
	case *kmsg.AddPartitionsToTxnRequest:
		id = &body.TransactionalID
	case *kmsg.AddOffsetsToTxnRequest:
		id = &body.TransactionalID
	case *kmsg.TxnOffsetCommitRequest:
		id = &body.TransactionalID
	case *kmsg.EndTxnRequest:
		id = &body.TransactionalID
	}
	if id == nil {
		return ""
	}
	return *id
}
