package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// undocumented finds packages and exported names without a comment.
func undocumented(files []*File) []Breach {
	var breaches []Breach
	documented := map[string]bool{}
	first := map[string]*File{}
	for _, f := range files {
		if f.Go == nil || f.isTest() {
			continue
		}
		if first[f.dir()] == nil {
			first[f.dir()] = f
		}
		documented[f.dir()] = documented[f.dir()] || f.Go.Doc != nil
		if !f.Generated {
			breaches = append(breaches, undocumentedNames(f)...)
		}
	}
	for _, f := range files {
		if first[f.dir()] == f && !documented[f.dir()] {
			breaches = append(breaches, Breach{f.Path, 1,
				"package " + f.Go.Name.Name + " has no comment: say in a sentence or two what it is for, in doc.go or its main file"})
		}
	}
	return breaches
}

// undocumentedNames finds exported names without a comment. Exempt is what something else explains: a function directly below one
// that has a comment, or somewhere below a comment that stands free in the file, about a family of them; a short method, by its interface, its type or its
// body; a constant in a group that has a comment or a type, or that has its value from another package.
func undocumentedNames(f *File) []Breach {
	var breaches []Breach
	missing := func(n ast.Node, name string) {
		breaches = append(breaches, f.breach(n, name+" has no comment: say what it is, with units, shapes and errors"))
	}
	free := freeComment(f)
	explained := -1 // the last line of a function with a comment, or of those directly below it
	for _, d := range f.Go.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			below := free.IsValid() && free < d.Pos() || f.line(d.Pos()) == explained+1
			if d.Doc == nil && d.Name.IsExported() && !below && !isPlainMethod(f, d) {
				missing(d, d.Name.Name)
			}
			if d.Doc != nil || below {
				explained = f.line(d.End())
			}
		case *ast.GenDecl:
			if d.Doc == nil {
				undocumentedSpecs(d, missing)
			}
		}
	}
	return breaches
}

// freeComment is where the first comment behind the imports stands that belongs to no declaration.
func freeComment(f *File) token.Pos {
	attached := map[*ast.CommentGroup]bool{}
	begin := f.Go.Name.End()
	for _, d := range f.Go.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			attached[d.Doc] = true
		case *ast.GenDecl:
			attached[d.Doc] = true
			if d.Tok == token.IMPORT {
				begin = d.End()
			}
		}
	}
	inside := func(c *ast.CommentGroup) bool {
		for _, d := range f.Go.Decls {
			if d.Pos() < c.Pos() && c.Pos() < d.End() || f.line(d.End()) == f.line(c.Pos()) {
				return true
			}
		}
		return false
	}
	for _, c := range f.Go.Comments {
		if c.Pos() > begin && !attached[c] && !inside(c) {
			return c.Pos()
		}
	}
	return token.NoPos
}

// shortMethod is how many lines a method without a comment may have.
const shortMethod = 15

// isPlainMethod reports whether d is a short method, or one of a type that nobody outside sees.
func isPlainMethod(f *File, d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	switch t := receiver.(type) {
	case *ast.IndexExpr:
		receiver = t.X
	case *ast.IndexListExpr:
		receiver = t.X
	}
	if name, ok := receiver.(*ast.Ident); ok && !name.IsExported() {
		return true
	}
	lines := f.line(d.End()) - f.line(d.Pos()) + 1
	return lines <= shortMethod || wellKnown[d.Name.Name]
}

// wellKnown are methods of interfaces of the standard library.
var wellKnown = map[string]bool{
	"String": true, "Error": true, "Unwrap": true, "Close": true, "Len": true, "Less": true, "Swap": true,
	"MarshalText": true, "UnmarshalText": true,
}

func undocumentedSpecs(d *ast.GenDecl, missing func(ast.Node, string)) {
	typed := false
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && s.Comment == nil {
				missing(s, s.Name.Name)
			}
		case *ast.ValueSpec:
			typed = typed || s.Type != nil
			if d.Tok == token.CONST && (typed || isElsewhere(s)) || s.Doc != nil || s.Comment != nil {
				continue
			}
			for _, name := range s.Names {
				if name.IsExported() {
					missing(s, name.Name)
				}
			}
		}
	}
}

// isElsewhere reports whether a constant has its value, and so its comment, from another package.
func isElsewhere(s *ast.ValueSpec) bool {
	for _, v := range s.Values {
		if _, ok := v.(*ast.SelectorExpr); !ok {
			return false
		}
	}
	return len(s.Values) > 0
}

var requirement = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

// dependencies wants a reason in docs/dependencies.md for every direct dependency.
func dependencies(files []*File) []Breach {
	const list = "docs/dependencies.md"
	mod, err := find(files, "go.mod")
	if err != nil {
		return []Breach{{"go.mod", 0, err.Error()}}
	}
	doc, err := find(files, list)
	if err != nil {
		return []Breach{{list, 0, err.Error() + ": it gives the reason of every dependency"}}
	}
	var breaches []Breach
	for _, m := range requirement.FindAllSubmatch(mod.Text, -1) {
		path := string(m[1])
		if !strings.Contains(string(doc.Text), "`"+path+"`") {
			breaches = append(breaches, Breach{"go.mod", 0, path + " has no reason in " + list + ": add one, or do without it"})
		}
	}
	return breaches
}
