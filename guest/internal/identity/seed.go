package identity

import (
	"maps"
	"strings"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/network"
	"holt.dev/guest/internal/process"
	"holt.dev/guest/internal/trust"
)

// SeedRequest holds the defaults for commands of an anonymous runtime.
type SeedRequest struct {
	Env     map[string]string `json:"env"`
	User    string            `json:"user"`
	Workdir string            `json:"workdir"`
	PidsMax *int64            `json:"pids_max"`
	Network *network.Config   `json:"network"`
	// Names are the names that the runtime will be bound with unless others are requested. Setting
	// them early saves time at the bind. They are nil if a checkpoint follows, because all runtimes
	// from it would share them.
	Names *Names `json:"names"`
}

// SeedAnswer is the result of a seed.
type SeedAnswer struct {
	Limits   Limits   `json:"limits"`
	Network  bool     `json:"network"` // true if there is a network
	Problems []string `json:"problems"`
}

func (r *SeedRequest) check() error {
	switch {
	case r.Workdir != "" && !strings.HasPrefix(r.Workdir, "/"):
		return fault.New(fault.InvalidRequest, "workdir must be an absolute path")
	case r.PidsMax != nil && *r.PidsMax < 1:
		return fault.New(fault.InvalidRequest, "pids_max must be at least 1")
	}
	if r.Names != nil {
		if err := r.Names.check(); err != nil {
			return err
		}
	}
	return checkDefaults(r.User, r.Env, r.Network)
}

// Seed lets an anonymous runtime run commands, which continue in every runtime that is restored
// from its checkpoint. It sets no identity: Bind does that later, for commands that start after it.
func (s *State) Seed(r SeedRequest) (*SeedAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil {
		return nil, fault.New(fault.Conflict, "the runtime is bound")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	answer := &SeedAnswer{Problems: []string{}}
	try := func(what string, err error) bool {
		if err != nil {
			answer.Problems = append(answer.Problems, what+": "+err.Error())
		}
		return err == nil
	}
	if r.PidsMax != nil {
		answer.Limits.Pids = try("pids_max", s.limitPids(*r.PidsMax))
	}
	if r.Names != nil {
		s.seeded = nil
		s.name(*r.Names, try)
		s.seeded = r.Names
	}
	var problems []string
	answer.Network, problems = s.Network.Set(r.Network)
	answer.Problems = append(answer.Problems, problems...)
	if s.known == nil || !s.HasPrograms() {
		s.known = copyOf(r.Env)
	}
	// Commands that start now continue in runtimes with other certificates.
	env := trust.Environment()
	maps.Copy(env, r.Env)
	s.defaults = &process.Defaults{Env: env, User: r.User, Workdir: r.Workdir}
	return answer, nil
}
