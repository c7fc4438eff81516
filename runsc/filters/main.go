// Command filters prints gVisor's file with precompiled system call filters of the sentry, for the
// processor that it runs on. gVisor's own build generates this file, and its Go module has an empty
// one: each sandbox would compile its filter at its start.
//
// The set-up runs it: filters FILE reads the module's file and writes it anew.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "filters:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("usage: filters FILE")
	}
	source, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	compiled, err := programs()
	if err != nil {
		return err
	}
	registered, err := register(string(source), compiled)
	if err != nil {
		return err
	}
	return os.WriteFile(arguments[0], []byte(registered), 0o644)
}

// The lines of the module's file that the programs change.
const (
	empty   = "\tprograms := make(map[string]precompiledseccomp.Program)\n"
	without = "const PrecompilationDisabledAtBuildTime = true\n"
)

// register returns the file with the programs in it.
func register(source string, programs []precompiledseccomp.Program) (string, error) {
	for _, line := range []string{empty, without} {
		if strings.Count(source, line) != 1 {
			return "", fmt.Errorf("this gVisor has other lines than %q", line)
		}
	}
	registrations := empty
	for _, program := range programs {
		registrations += program.Registration("\t", "precompiledseccomp", "programs")
	}
	source = strings.Replace(source, empty, registrations, 1)
	return strings.Replace(source, without, strings.Replace(without, "true", "false", 1), 1), nil
}
