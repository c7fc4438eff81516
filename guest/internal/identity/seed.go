package identity

import (
	"maps"
	"strings"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/network"
	"holt.dev/guest/internal/process"
	"holt.dev/guest/internal/trust"
)

// SeedRequest is what commands of a runtime begin with that nobody owns yet.
type SeedRequest struct {
	Env     map[string]string `json:"env"`
	User    string            `json:"user"`
	Workdir string            `json:"workdir"`
	PidsMax *int64            `json:"pids_max"`
	Network *network.Config   `json:"network"`
	// Names are those that it will be bound with unless somebody wants others: giving them takes
	// time. Nil where it is checkpointed afterwards: what is made of it would share them.
	Names *Names `json:"names"`
}

// SeedAnswer is what became of it.
type SeedAnswer struct {
	Limits   Limits   `json:"limits"`
	Network  bool     `json:"network"` // whether there is one
	Problems []string `json:"problems"`
}

func (r *SeedRequest) check() error {
	switch {
	case r.Workdir != "" && !strings.HasPrefix(r.Workdir, "/"):
		return fault.New(fault.InvalidRequest, "workdir: an absolute path")
	case r.PidsMax != nil && *r.PidsMax < 1:
		return fault.New(fault.InvalidRequest, "pids_max: at least 1")
	}
	if r.Names != nil {
		if err := r.Names.check(); err != nil {
			return err
		}
	}
	return checkDefaults(r.User, r.Env, r.Network)
}

// Seed lets an anonymous runtime run commands, which live on in every runtime that is made of its
// checkpoint. It gives no identity: that is what Bind does later, for what is started from then on.
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
	// What starts now goes on in runtimes that have certificates of their own.
	env := trust.Environment()
	maps.Copy(env, r.Env)
	s.defaults = &process.Defaults{Env: env, User: r.User, Workdir: r.Workdir}
	return answer, nil
}
