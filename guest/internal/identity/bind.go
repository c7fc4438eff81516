// Package identity gives an anonymous runtime an identity.
package identity

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/charset"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/network"
	"holt.dev/guest/internal/process"
)

// Request is the identity that a runtime gets.
type Request struct {
	RuntimeID string `json:"runtime_id"`
	// Renew applies the identity also to a bound runtime, after a restore of its own checkpoint or
	// of another runtime's.
	Renew bool `json:"renew"`
	Names
	Env        map[string]string `json:"env"`
	User       string            `json:"user"`
	Workdir    string            `json:"workdir"`
	TimeUnixMs int64             `json:"time_unix_ms"`
	Entropy    []byte            `json:"entropy"`
	PidsMax    *int64            `json:"pids_max"`
	SetClock   bool              `json:"set_clock"`
	Network    *network.Config   `json:"network"`
}

// Answer is the result of a bind. Problems lists the settings that could not be applied.
type Answer struct {
	RuntimeID string `json:"runtime_id"`
	Limits    Limits `json:"limits"`
	Clock     bool   `json:"clock"`    // true if it was set
	Hostname  bool   `json:"hostname"` // true if the kernel's hostname was set
	Network   bool   `json:"network"`  // true if there is a network
	// Distinct is false if the runtime may share random numbers, names or keys with the runtime
	// that it was before.
	Distinct bool     `json:"distinct"`
	Problems []string `json:"problems"`
}

// Limits reports the limits that are in force inside the runtime.
type Limits struct {
	Pids bool `json:"pids"`
}

// sharedBy names the settings that two runtimes share if they could not be applied.
var sharedBy = []string{"entropy", machineIDFile, dbusMachineIDFile, hostnameFile, "hostname", hostKeys}

// State is the current identity of the runtime.
type State struct {
	mu     sync.Mutex
	answer *Answer
	// defaults are separate from answer, because commands read them often. The defaults of a seed
	// apply until the bind. They are nil before both.
	defaults *process.Defaults
	pidsMax  int64 // in force; 0: none
	// seeded are the names from a seed, until the bind.
	seeded *Names
	// hostLines are the lines that /etc/hosts was given, also under earlier identities.
	hostLines [][]byte
	// known is the environment that running programs have or can read. It is nil before the first
	// seed or bind.
	known map[string]string
	// published is true once environmentFile was written.
	published bool
	// HasPrograms returns true while programs run that a seed or an earlier bind has started.
	HasPrograms func() bool
	// LetGo is called when the runtime gets another identity. Clients that waited for the earlier
	// one do not return.
	LetGo func()
	// LimitPids limits the number of processes that commands start.
	LimitPids func(max int64) error
	// Network is the runtime's network. It is down until the host configures it.
	Network *network.Network
}

// isLabel returns true if text is one label of a hostname (RFC 1123, 2.1), in lower case.
func isLabel(text string) bool {
	return charset.Only(text, 1, 63, charset.Lower+charset.Digits+"-") && text[0] != '-' && text[len(text)-1] != '-'
}

func (r *Request) check() error {
	problem := ""
	switch {
	case !charset.Only(r.RuntimeID, 1, 64, charset.Lower+charset.Digits):
		problem = "runtime_id: small letters and digits"
	case r.Workdir != "" && !strings.HasPrefix(r.Workdir, "/"):
		problem = "workdir must be an absolute path"
	case r.PidsMax != nil && *r.PidsMax < 1:
		problem = "pids_max must be at least 1"
	case r.SetClock && r.TimeUnixMs <= 0:
		problem = "time_unix_ms: milliseconds since 1970"
	}
	if problem != "" {
		return fault.New(fault.InvalidRequest, "%s", problem)
	}
	if err := r.Names.check(); err != nil {
		return err
	}
	return checkDefaults(r.User, r.Env, r.Network)
}

func (n *Names) check() error {
	switch {
	case !isLabel(n.Hostname):
		return fault.New(fault.InvalidRequest, "hostname must be one DNS label")
	case !charset.Only(n.MachineID, 32, 32, charset.Hex):
		return fault.New(fault.InvalidRequest, "machine_id must be 32 hexadecimal digits")
	}
	return nil
}

func checkDefaults(user string, env map[string]string, wanted *network.Config) error {
	if wanted != nil {
		if err := wanted.Check(); err != nil {
			return err
		}
	}
	if user != "" {
		if _, err := accounts.Current().Lookup(user); err != nil {
			return err
		}
	}
	return process.CheckEnv(env)
}

// RuntimeID returns the bound id, or nil.
func (s *State) RuntimeID() *string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer == nil {
		return nil
	}
	return &s.answer.RuntimeID
}

// Defaults returns the defaults of commands and files. It returns an error before the runtime is
// bound or seeded.
func (s *State) Defaults() (process.Defaults, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.defaults == nil {
		return process.Defaults{}, fault.New(fault.Conflict, "the runtime is not bound yet")
	}
	bound := *s.defaults
	if trusted := s.Network.Env(); len(trusted) > 0 {
		bound.Trusted, bound.Env = trusted, maps.Clone(trusted)
		maps.Copy(bound.Env, s.defaults.Env)
	}
	return bound, nil
}

// Bind applies an identity once. A repeated call with the same id returns the first result. With
// Renew it applies an identity again, also another one. If the id is the same, names and keys are
// kept, because a program inside may have changed them.
func (s *State) Bind(r Request) (*Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil && !r.Renew {
		if s.answer.RuntimeID != r.RuntimeID {
			return nil, fault.New(fault.Conflict, "the runtime is bound to another id")
		}
		return s.answer, s.Network.Resume()
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	renamed := s.answer != nil && s.answer.RuntimeID != r.RuntimeID
	answer := &Answer{RuntimeID: r.RuntimeID, Distinct: s.answer == nil || renamed || s.answer.Distinct, Problems: []string{}}
	try := func(what string, err error) bool {
		if err != nil {
			answer.Problems = append(answer.Problems, what+": "+err.Error())
			answer.Distinct = answer.Distinct && !(renamed && slices.Contains(sharedBy, what))
		}
		return err == nil
	}
	try("entropy", stirIn(r.Entropy))
	if r.SetClock {
		answer.Clock = try("clock", setClock(r.TimeUnixMs))
	}
	if s.answer != nil && !renamed {
		answer.Hostname = s.answer.Hostname
	} else {
		s.LetGo()
		answer.Hostname = s.name(r.Names, try)
		s.seeded = nil // programs may change the names from now on
	}
	if r.PidsMax != nil {
		answer.Limits.Pids = try("pids_max", s.limitPids(*r.PidsMax))
	}
	if r.Network != nil || r.Renew {
		var problems []string
		answer.Network, problems = s.Network.Set(r.Network)
		answer.Problems = append(answer.Problems, problems...)
	}
	try(environmentFile, s.publish(r.Env, r.User))
	s.defaults = &process.Defaults{Env: r.Env, User: r.User, Workdir: r.Workdir}
	s.answer = answer
	return answer, nil
}

// limitPids limits the number of processes, unless that limit is in force.
func (s *State) limitPids(limit int64) error {
	if s.pidsMax == limit {
		return nil
	}
	err := s.LimitPids(limit)
	if err == nil {
		s.pidsMax = limit
	}
	return err
}

// stirIn adds bytes to the kernel's entropy (random(4)), so that two restores of one checkpoint
// draw different random numbers.
func stirIn(entropy []byte) error {
	if len(entropy) == 0 {
		return nil
	}
	file, err := os.OpenFile("/dev/urandom", os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(entropy)
	return err
}

func setClock(unixMs int64) error {
	tv := unix.NsecToTimeval(unixMs * int64(time.Millisecond))
	return unix.Settimeofday(&tv)
}
