package faultproxy

import "github.com/twmb/franz-go/pkg/kmsg"

// Requests about transactions.
const (
	EndTxn         = kmsg.EndTxn
	InitProducerID = kmsg.InitProducerID
)

// TransactionalID is that of a request of one of these kinds; "" for any other.
func TransactionalID(r *Request) string {
	body, err := r.Body()
	if err != nil {
		return ""
	}
	switch body := body.(type) {
	case *kmsg.EndTxnRequest:
		return body.TransactionalID
	case *kmsg.InitProducerIDRequest:
		if body.TransactionalID != nil {
			return *body.TransactionalID
		}
	}
	return ""
}

// TakesFromAny says whether an InitProducerID takes a transactional id whoever has it: it names no producer (KIP-360).
func TakesFromAny(r *Request) bool {
	body, err := r.Body()
	init, ok := body.(*kmsg.InitProducerIDRequest)
	return err == nil && ok && init.ProducerID < 0
}
