package main

import (
	"go/types"
	"slices"
	"strings"
)

// linesOf returns a line for each exported name of a package, and for the fields and methods of its types.
func linesOf(p *types.Package) (lines []string) {
	of := writer{prefix: strings.TrimPrefix(p.Path(), holdfast) + ": "}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			of.line("const " + name + " " + text(object.Type()))
		case *types.Var:
			of.line("var " + name + " " + text(object.Type()))
		case *types.Func:
			of.line("func " + name + signature(object.Type()))
		case *types.TypeName:
			of.typeName(object)
		}
	}
	return of.lines
}

type writer struct {
	prefix string
	lines  []string
}

func (w *writer) line(text string) { w.lines = append(w.lines, w.prefix+text) }

func (w *writer) typeName(object *types.TypeName) {
	name := object.Name()
	if aliased, is := object.Type().(*types.Alias); is {
		w.line("type " + name + " = " + text(aliased.Rhs()))
		// What an alias of a public type has is listed with that type.
		named, is := types.Unalias(aliased).(*types.Named)
		if !is || named.Obj().Pkg() == nil || !strings.Contains(named.Obj().Pkg().Path(), "/internal/") {
			return
		}
	}
	t := types.Unalias(object.Type())
	parameters := ""
	if named, is := t.(*types.Named); is {
		for parameter := range named.TypeParams().TypeParams() {
			parameters += " " + parameter.Obj().Name() + " " + text(parameter.Constraint())
		}
	}
	switch under := t.Underlying().(type) {
	case *types.Struct:
		w.line("type " + name + parameters + " struct")
		for field := range under.Fields() {
			if field.Exported() {
				w.line("field " + name + "." + field.Name() + " " + text(field.Type()))
			}
		}
	case *types.Interface:
		w.contract(name, parameters, under)
		return
	default:
		w.line("type " + name + parameters + " " + text(under))
	}
	w.methods(name, t)
}

// methods lists those that a variable of the type has; one with a value receiver is also in the set of the value.
func (w *writer) methods(name string, t types.Type) {
	values := types.NewMethodSet(t)
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		object := method.Obj()
		if !object.Exported() {
			continue
		}
		receiver := "*" + name
		if values.Lookup(object.Pkg(), object.Name()) != nil {
			receiver = name
		}
		w.line("method (" + receiver + ") " + object.Name() + signature(method.Type()))
	}
}

// contract writes an interface on one line: whatever changes in it breaks those who implement it. One with an
// unexported method is implemented by nobody else, and may grow, so its methods have lines of their own.
func (w *writer) contract(name, parameters string, of *types.Interface) {
	var methods, unions []string
	sealed := false
	for method := range of.Methods() {
		sealed = sealed || !method.Exported()
		if method.Exported() {
			methods = append(methods, method.Name()+signature(method.Type()))
		}
	}
	for embedded := range of.EmbeddedTypes() {
		if !types.IsInterface(embedded) { // of a constraint
			unions = append(unions, text(embedded))
		}
	}
	if !sealed {
		all := slices.Concat(methods, unions)
		slices.Sort(all)
		w.line("type " + name + parameters + " interface { " + strings.Join(all, "; ") + " }")
		return
	}
	w.line("type " + name + parameters + " interface, sealed")
	for _, method := range methods {
		w.line("method (" + name + ") " + method)
	}
}

// signature is that of a function, without the names of parameters: they are no part of the API.
func signature(t types.Type) string {
	of := t.(*types.Signature)
	variables := func(tuple *types.Tuple) *types.Tuple {
		var nameless []*types.Var
		for v := range tuple.Variables() {
			nameless = append(nameless, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
		}
		return types.NewTuple(nameless...)
	}
	constraints := ""
	for p := range of.TypeParams().TypeParams() {
		constraints += "[" + p.Obj().Name() + " " + text(p.Constraint()) + "]"
	}
	plain := types.NewSignatureType(nil, nil, nil, variables(of.Params()), variables(of.Results()), of.Variadic())
	return constraints + strings.TrimPrefix(text(plain), "func")
}

// text names types by the paths of their packages, without what all of ours have in common.
func text(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return strings.TrimPrefix(p.Path(), holdfast) })
}
