package syntax

import "reflect"

// Walk calls visit for every struct of the tree that is behind a pointer, parents first.
func Walk(node any, visit func(node any)) { walk(reflect.ValueOf(node), visit) }

func walk(v reflect.Value, visit func(any)) {
	switch v.Kind() {
	case reflect.Interface:
		walk(v.Elem(), visit)
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Interface())
			walk(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "Node" {
				walk(v.Field(i), visit)
			}
		}
	}
}
