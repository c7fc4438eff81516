// Package identity turns an anonymous runtime into a certain one.
package identity

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/network"
	"holt.dev/guest/internal/process"
)

// Request is who the runtime is to be.
type Request struct {
	RuntimeID   string            `json:"runtime_id"`
	Hostname    string            `json:"hostname"`
	MachineID   string            `json:"machine_id"`
	Env         map[string]string `json:"env"`
	User        string            `json:"user"`
	Workdir     string            `json:"workdir"`
	TimeUnixMs  int64             `json:"time_unix_ms"`
	Entropy     []byte            `json:"entropy"`
	PidsMax     *int64            `json:"pids_max"`
	SetClock    bool              `json:"set_clock"`
	SetHostname bool              `json:"set_hostname"`
	Sudo        bool              `json:"sudo"`
	Network     *network.Config   `json:"network"`
}

// Answer is what became of a bind. What could not be applied is said, never left to be found out.
type Answer struct {
	RuntimeID string   `json:"runtime_id"`
	Limits    Limits   `json:"limits"`
	Clock     bool     `json:"clock"`    // whether it was set
	Hostname  bool     `json:"hostname"` // whether the kernel's name was set
	Sudo      bool     `json:"sudo"`     // whether it is served
	Network   bool     `json:"network"`  // whether there is one
	Problems  []string `json:"problems"`
}

// Limits tells which limits hold inside the runtime.
type Limits struct {
	Pids bool `json:"pids"`
}

// State is who the runtime is, so far.
type State struct {
	mu     sync.Mutex
	answer *Answer
	// defaults are kept apart from answer, as commands read them often. Those of a seed hold until it is bound; nil before either.
	defaults *process.Defaults
	hasSudo  bool
	// LimitPids enforces a number of processes on everything that commands start.
	LimitPids func(max int64) error
	// ServeSudo lets those in the group sudo be root.
	ServeSudo func() error
	// Network is the runtime's way out, which is none until the host gives it one.
	Network *network.Network
}

var (
	runtimeIDPattern = regexp.MustCompile(`^[a-z0-9]{1,64}$`)
	hostnamePattern  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	machineIDPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

func (r *Request) check() error {
	problem := ""
	switch {
	case !runtimeIDPattern.MatchString(r.RuntimeID):
		problem = "runtime_id: small letters and digits"
	case !hostnamePattern.MatchString(r.Hostname):
		problem = "hostname: one DNS label"
	case !machineIDPattern.MatchString(r.MachineID):
		problem = "machine_id: 32 hexadecimal digits"
	case r.Workdir != "" && !strings.HasPrefix(r.Workdir, "/"):
		problem = "workdir: an absolute path"
	case r.PidsMax != nil && *r.PidsMax < 1:
		problem = "pids_max: at least 1"
	case r.SetClock && r.TimeUnixMs <= 0:
		problem = "time_unix_ms: milliseconds since 1970"
	}
	if problem != "" {
		return fault.New(fault.InvalidRequest, "%s", problem)
	}
	return checkDefaults(r.User, r.Env, r.Network)
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

// RuntimeID is the bound id, or nil.
func (s *State) RuntimeID() *string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer == nil {
		return nil
	}
	return &s.answer.RuntimeID
}

// Defaults are what commands and files begin with; an error before the runtime is bound or seeded.
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

// Bind applies an identity, once. The same id again answers what became of the first.
func (s *State) Bind(r Request) (*Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil {
		if s.answer.RuntimeID != r.RuntimeID {
			return nil, fault.New(fault.Conflict, "the runtime is bound to another id")
		}
		return s.answer, nil
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	answer := &Answer{RuntimeID: r.RuntimeID, Problems: []string{}}
	try := func(what string, err error) bool {
		if err != nil {
			answer.Problems = append(answer.Problems, what+": "+err.Error())
		}
		return err == nil
	}
	try("entropy", stirIn(r.Entropy))
	if r.SetClock {
		answer.Clock = try("clock", setClock(r.TimeUnixMs))
	}
	if r.SetHostname {
		answer.Hostname = try("hostname", unix.Sethostname([]byte(r.Hostname)))
	}
	try("/etc/machine-id", etc.Replace("/etc/machine-id", []byte(r.MachineID+"\n"), 0o444))
	try("/etc/hostname", etc.Replace("/etc/hostname", []byte(r.Hostname+"\n"), 0o644))
	try("/etc/hosts", addHost(r.Hostname))
	if r.PidsMax != nil {
		answer.Limits.Pids = try("pids_max", s.LimitPids(*r.PidsMax))
	}
	if r.Sudo {
		answer.Sudo = try("sudo", s.serveSudo())
	}
	if r.Network != nil {
		var problems []string
		answer.Network, problems = s.Network.Set(r.Network)
		answer.Problems = append(answer.Problems, problems...)
	}
	s.defaults = &process.Defaults{Env: r.Env, User: r.User, Workdir: r.Workdir}
	s.answer = answer
	return answer, nil
}

// serveSudo has root given to those who may have it, from the first time it is asked for.
func (s *State) serveSudo() error {
	if s.hasSudo {
		return nil
	}
	err := s.ServeSudo()
	s.hasSudo = err == nil
	return err
}

// stirIn adds bytes to the kernel's entropy (random(4)), so that two restores of one checkpoint do not draw alike.
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

const (
	// maxHostsBytes bounds what is read of a file that an image brings.
	maxHostsBytes = 64 << 10
	hostsFile     = "/etc/hosts"
)

// addHost lets the runtime resolve its own name, and localhost where the image has no hosts file.
func addHost(hostname string) error {
	old, err := etc.ReadRegular(hostsFile, maxHostsBytes)
	if os.IsNotExist(err) {
		old, err = []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n"), nil
	}
	if err != nil {
		return err
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		old = append(old, '\n')
	}
	line := fmt.Appendf(nil, "127.0.1.1\t%s\n", hostname)
	return etc.ReplacePart(hostsFile, append(old, line...), 0o644, func(content []byte) []byte {
		return bytes.Replace(content, line, nil, 1)
	})
}
