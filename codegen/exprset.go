package codegen

import (
	"hash/maphash"
	"math/big"
	"reflect"

	"github.com/eoc-lang/eoc/internal/ir"
)

// exprSet holds expressions of which no two are the same. Lists may have thousands of items, too many to compare each
// with each.
type exprSet map[uint64][]ir.Expr

// add reports whether e was not there yet.
func (s exprSet) add(e ir.Expr) bool {
	sum := sumOf(e)
	for _, x := range s[sum] {
		if same(x, e) {
			return false
		}
	}
	s[sum] = append(s[sum], e)
	return true
}

var seed = maphash.MakeSeed()

// sumOf is a hash: equal for expressions that are the same.
func sumOf(e ir.Expr) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	walk(e, func(e ir.Expr) {
		maphash.WriteComparable(&h, reflect.TypeOf(e))
		maphash.WriteComparable(&h, e.Type())
		switch e := e.(type) {
		case *ir.Column:
			maphash.WriteComparable(&h, e.Index)
		case *ir.Const:
			switch v := e.Value.(type) {
			case *big.Int:
				h.WriteString(v.Text(62))
			case float64:
				maphash.WriteComparable(&h, v+0) // there are two zeros
			default:
				maphash.WriteComparable(&h, v)
			}
		case *ir.Arith:
			h.WriteByte(byte(e.Op))
		case *ir.Compare:
			h.WriteString(string(e.Op))
		case *ir.Logic:
			maphash.WriteComparable(&h, e.Or)
		case *ir.In:
			maphash.WriteComparable(&h, e.Neg)
		case *ir.IsNull:
			maphash.WriteComparable(&h, e.Neg)
		}
	})
	return h.Sum64()
}
