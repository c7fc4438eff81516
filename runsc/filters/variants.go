package main

import (
	"fmt"
	"slices"

	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/pkg/sentry/platform"
	_ "gvisor.dev/gvisor/pkg/sentry/platform/platforms" // registers the platforms
	"gvisor.dev/gvisor/runsc/boot/filter/config"
)

// variants returns the configurations in which Holt starts gVisor, by their keys: one for each
// platform. gVisor compiles filters of other configurations at the start of a sandbox.
func variants() (map[string]config.Options, error) {
	found := make(map[string]config.Options)
	for _, name := range platform.List() {
		constructor, err := platform.Lookup(name)
		if err != nil {
			return nil, err
		}
		for _, info := range constructor.PrecompiledSeccompInfo() {
			options := config.Options{Platform: info}
			found[options.ConfigKey()] = options
		}
	}
	return found, nil
}

// programs returns the precompiled filters of all variants. Each is the same as the filter that a
// sandbox compiles at its start.
func programs() ([]precompiledseccomp.Program, error) {
	wanted, err := variants()
	if err != nil {
		return nil, err
	}
	compiled, err := config.PrecompiledPrograms()
	if err != nil {
		return nil, err
	}
	for _, program := range compiled {
		options, isWanted := wanted[program.Name]
		if !isWanted {
			return nil, fmt.Errorf("Holt starts no gVisor with %s", program.Name)
		}
		if err := check(program, options); err != nil {
			return nil, fmt.Errorf("%s: %w", program.Name, err)
		}
		delete(wanted, program.Name)
	}
	for key := range wanted {
		return nil, fmt.Errorf("gVisor precompiles no filter for %s", key)
	}
	return compiled, nil
}

// check compares a precompiled filter with those that sandboxes compile at their start
// (runsc/boot/filter.Install). They differ by the descriptor of the control socket and the process
// id.
func check(program precompiledseccomp.Program, options config.Options) error {
	for _, options.ControllerFD = range []uint32{0, 7, 1<<31 - 1} {
		rendered, err := program.RenderInstructions(options.Vars())
		if err != nil {
			return err
		}
		rules, denied := config.Rules(options)
		source := &seccomp.Program{
			RuleSets: []seccomp.RuleSet{{Rules: denied}, {Rules: rules, Action: seccomp.Allow}},
			Options:  config.SeccompOptions(options),
		}
		built, _, err := source.Build()
		if err != nil {
			return err
		}
		if !slices.Equal(rendered, built) {
			return fmt.Errorf("with the control socket %d a start compiles another filter", options.ControllerFD)
		}
	}
	return nil
}
