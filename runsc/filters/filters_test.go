package main

import (
	"strings"
	"testing"
)

func TestEveryVariantHasTheFilterOfAStart(t *testing.T) {
	compiled, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	wanted, _ := variants()
	for _, program := range compiled {
		options := wanted[program.Name]
		if err := check(program, options); err != nil {
			t.Errorf("%s: %v", program.Name, err)
		}
		// One bit makes it another filter.
		last := len(program.Bytecode32) - 1
		program.Bytecode32[last] ^= 1
		if check(program, options) == nil {
			t.Errorf("%s: a changed filter counts as the same", program.Name)
		}
		program.Bytecode32[last] ^= 1
	}
	if len(compiled) != len(wanted) {
		t.Errorf("%d filters for %d variants", len(compiled), len(wanted))
	}
}

func TestRegistersProgramsInTheModulesFile(t *testing.T) {
	compiled, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	source := "package filter\n\n" + without + "\nfunc registerPrograms() {\n" + empty + "}\n"
	registered, err := register(source, compiled)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range compiled {
		if !strings.Contains(registered, program.Registration("\t", "precompiledseccomp", "programs")) {
			t.Errorf("%s is not registered", program.Name)
		}
	}
	if strings.Contains(registered, without) {
		t.Error("the file says that it has no filters")
	}
	for _, other := range []string{"", without, empty, empty + empty + without} {
		if _, err := register(other, compiled); err == nil {
			t.Errorf("%q is taken for the module's file", other)
		}
	}
}
