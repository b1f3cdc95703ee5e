package tidy

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// helpless finds failures that say what is wrong and not what to do. The process itself tries what is transient again, and asks for a report of
// what is internal; to everything else a person has to do something.
func helpless(f *File) []Breach {
	if !strings.HasPrefix(f.Path, "runtime/") {
		return nil
	}
	var breaches []Breach
	ast.Inspect(f.Go, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !isSelector(call.Fun, "failure", "New") || len(call.Args) < 2 {
			return true
		}
		help, ok := call.Args[1].(*ast.BasicLit)
		kind := call.Args[0]
		if ok && help.Value == `""` && !isSelector(kind, "failure", "Transient") && !isSelector(kind, "failure", "Internal") {
			breaches = append(breaches, f.breach(call, fmt.Sprintf("a failure without help: say what a person is to do about %s", types.ExprString(kind))))
		}
		return true
	})
	return breaches
}

// isSelector reports whether an expression is x.sel.
func isSelector(e ast.Expr, x, sel string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != sel {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == x
}
