package process

import (
	"cmp"
	"maps"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/charset"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/pty"
	"holt.dev/guest/internal/supervise"
)

const (
	// DefaultPath is the default of PATH.
	DefaultPath      = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	defaultUmask     = 0o022
	defaultTerm      = "xterm-256color"
	defaultRingBytes = 1 << 20
	minRingBytes     = 4 << 10
	maxRingBytes     = 16 << 20
	maxLabelBytes    = 1 << 10
)

// Spec describes a command, as the host requests it.
type Spec struct {
	ID        string            `json:"id"`
	Command   *string           `json:"command"`
	Argv      []string          `json:"argv"`
	Cwd       *string           `json:"cwd"`
	Env       map[string]string `json:"env"`
	EnvExact  bool              `json:"env_exact"` // adds only HOME and variables of certificates
	User      *string           `json:"user"`
	Stdin     string            `json:"stdin"`
	StdinData []byte            `json:"stdin_data"`
	TimeoutMs int64             `json:"timeout_ms"`
	RingBytes *int              `json:"ring_bytes"`
	Rlimits   map[string]Limit  `json:"rlimits"`
	Session   *string           `json:"session"`
	// HomeOf is the name of an account. Cwd is then as in PathOf of that account, and null is its
	// home.
	HomeOf *string `json:"home_of"`
	// Label is a text of the host. It comes back in Info.
	Label     *string   `json:"label"`
	Pty       *pty.Size `json:"pty"`
	Await     bool      `json:"await_reader"`
	Transient bool      `json:"transient"`
	// Background is true if a runtime that runs only such commands counts as idle.
	Background bool `json:"background"`
}

// Defaults are the defaults from the bind. The settings of a command override them.
type Defaults struct {
	Env map[string]string
	// Trusted is the part of Env that names certificates.
	Trusted map[string]string
	User    string
	Workdir string
}

func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, format, args...)
}

// check refuses an invalid spec.
func (s *Spec) check() error {
	switch {
	case !charset.Only(s.ID, 1, 64, charset.Alphanumeric+"_-"):
		return invalid("id: 1 to 64 letters, digits, _ or -")
	case (s.Command == nil) == (len(s.Argv) == 0):
		return invalid("exactly one of command and argv")
	case s.Stdin != "" && s.Stdin != "none" && s.Stdin != "pipe":
		return invalid("stdin: none or pipe")
	case s.TimeoutMs < 0:
		return invalid("timeout_ms: not negative")
	case s.RingBytes != nil && (*s.RingBytes < minRingBytes || *s.RingBytes > maxRingBytes):
		return invalid("ring_bytes: %d to %d", minRingBytes, maxRingBytes)
	case s.EnvExact && s.Session != nil:
		return invalid("env_exact: a session carries an environment of its own")
	case s.Pty != nil && s.Session != nil:
		return invalid("pty: a shell session has no terminal")
	case s.Pty != nil && checkSize(*s.Pty) != nil:
		return checkSize(*s.Pty)
	case s.HomeOf != nil && s.Session != nil:
		return invalid("home_of: a session carries a directory of its own")
	case s.Label != nil && (len(*s.Label) > maxLabelBytes || strings.IndexByte(*s.Label, 0) >= 0):
		return invalid("label: at most %d bytes without NUL", maxLabelBytes)
	case s.Command != nil && strings.IndexByte(*s.Command, 0) >= 0:
		return invalid("command: holds a NUL byte")
	}
	if err := s.checkSession(); err != nil {
		return err
	}
	if err := checkLimits(s.Rlimits); err != nil {
		return err
	}
	for _, arg := range s.Argv {
		if strings.IndexByte(arg, 0) >= 0 {
			return invalid("argv: holds a NUL byte")
		}
	}
	return CheckEnv(s.Env)
}

func checkSize(size pty.Size) error {
	if size.Cols < 1 || size.Rows < 1 || size.Cols > pty.MaxSide || size.Rows > pty.MaxSide {
		return invalid("pty: cols and rows are 1 to %d", pty.MaxSide)
	}
	return nil
}

// CheckEnv refuses names and values that are invalid in an environment.
func CheckEnv(env map[string]string) error {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return invalid("env: %q cannot be a name", name)
		}
		if strings.IndexByte(value, 0) >= 0 {
			return invalid("env: the value of %s holds a NUL byte", name)
		}
	}
	return nil
}

func (s *Spec) ringBytes() int {
	if s.RingBytes == nil {
		return defaultRingBytes
	}
	return *s.RingBytes
}

// account returns the user of the command.
func (s *Spec) account(defaults Defaults) (*accounts.User, error) {
	name := defaults.User
	if s.User != nil {
		name = *s.User
	}
	if name == "" {
		return &accounts.User{Name: "root", Home: "/root", Shell: "/bin/sh"}, nil
	}
	return accounts.Current().Lookup(name)
}

// workdir returns the initial directory of the command.
func (s *Spec) workdir(defaults Defaults) (string, error) {
	if s.HomeOf != nil {
		user, err := accounts.Current().Account(*s.HomeOf)
		if err != nil {
			return "", err
		}
		name := ""
		if s.Cwd != nil {
			name = *s.Cwd
		}
		return user.PathOf(name), nil
	}
	dir := defaults.Workdir
	if s.Cwd != nil {
		dir = *s.Cwd
	}
	if dir == "" {
		dir = "/"
	}
	return dir, nil
}

// plan returns the program to execute with its attributes, and the user.
func (s *Spec) plan(defaults Defaults) (start *supervise.Start, user *accounts.User, err error) {
	if user, err = s.account(defaults); err != nil {
		return nil, nil, err
	}
	dir, err := s.workdir(defaults)
	if err != nil {
		return nil, nil, err
	}
	if err := checkDirectory(dir); err != nil {
		if s.HomeOf != nil { // the host does not know the directory
			err = err.With("reason", "no_such_directory").With("path", dir)
		}
		return nil, nil, err
	}
	env := s.environment(defaults, user)
	if s.Pty != nil && env["TERM"] == "" {
		env["TERM"] = defaultTerm
	}
	argv := s.Argv
	if s.Command != nil {
		argv = []string{"/bin/sh", "-c", *s.Command}
	}
	if err := s.checkSize(argv, env); err != nil {
		return nil, nil, err
	}
	path := argv[0]
	// The shell of a session finds programs itself.
	if s.Session == nil {
		if path, err = LookProgram(argv[0], cmp.Or(env["PATH"], DefaultPath), dir); err != nil {
			return nil, nil, err
		}
	}
	start = &supervise.Start{
		Path: path, Argv: argv, Limits: limitsOf(s.Rlimits), Env: flatten(env), Dir: dir, Umask: defaultUmask,
		UID: user.UID, GID: user.GID, Groups: user.Groups, Switch: !isSelf(user), Terminal: s.Pty != nil,
	}
	return start, user, nil
}

// isSelf returns true if commands of this user need no change of credentials.
func isSelf(user *accounts.User) bool {
	if user.UID != uint32(unix.Geteuid()) || user.GID != uint32(unix.Getegid()) {
		return false
	}
	groups, err := unix.Getgroups()
	return err == nil && len(groups) == 0 && len(user.Groups) == 0
}

func checkDirectory(dir string) *fault.Fault {
	if !strings.HasPrefix(dir, "/") || strings.IndexByte(dir, 0) >= 0 {
		return fault.New(fault.InvalidRequest, "cwd %q: not an absolute path", dir)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fault.New(fault.InvalidRequest, "cwd %s: %s", dir, err.Error())
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fault.New(fault.InvalidRequest, "cwd %s: not a directory", dir)
	}
	return nil
}

// environment returns the variables of the command.
func (s *Spec) environment(defaults Defaults, user *accounts.User) map[string]string {
	if !s.EnvExact {
		return mergeEnv(defaults.Env, user, s.Env, s.User == nil || *s.User == defaults.User)
	}
	env := map[string]string{"HOME": user.Home}
	maps.Copy(env, defaults.Trusted)
	maps.Copy(env, s.Env)
	return env
}

// mergeEnv merges the bound environment, the user's variables (such as HOME), and the command's
// own, which have the highest priority. Bound variables override those of the user only if it is
// the runtime's own user.
func mergeEnv(bound map[string]string, user *accounts.User, own map[string]string, isBoundUser bool) map[string]string {
	env := map[string]string{"PATH": DefaultPath}
	login := map[string]string{"HOME": user.Home, "USER": user.Name, "LOGNAME": user.Name, "SHELL": user.Shell}
	if isBoundUser {
		maps.Copy(env, login)
		maps.Copy(env, bound)
	} else {
		maps.Copy(env, bound)
		maps.Copy(env, login)
	}
	maps.Copy(env, own)
	return env
}

func flatten(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return list
}

// LookProgram finds the program argv[0], as execvp(3) does. A name with a slash is a path, and any
// other is searched for in PATH.
func LookProgram(name, path, dir string) (string, error) {
	if name == "" {
		return "", invalid("argv: the program's name is empty")
	}
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = strings.Split(path, ":")
		for i, place := range candidates {
			if place == "" {
				place = "."
			}
			candidates[i] = place + "/" + name
		}
	}
	problem := unix.ENOENT
	for _, candidate := range candidates {
		errno := programAt(candidate, dir)
		if errno == 0 {
			return candidate, nil
		}
		if problem == unix.ENOENT {
			// A file that cannot be run is more informative than a missing one.
			problem = errno
		}
	}
	return "", spawnError(name, problem)
}

// Reasons for programs that ask: those of a shell's exit codes 127 and 126.
const (
	programMissing  = "program_not_found"
	programUnusable = "program_not_executable"
)

func cannotRun(reason, format string, args ...any) error {
	return fault.New(fault.InvalidRequest, format, args...).With("reason", reason)
}

// startError returns the error for a program that was found but did not start.
func startError(name string, errno unix.Errno) error {
	if errno == unix.ENOENT {
		return cannotRun(programUnusable, "%s: what interprets it, named in its first line or its header, is not there", name)
	}
	return spawnError(name, errno)
}

// spawnError describes an errno in terms of the request.
func spawnError(name string, errno unix.Errno) error {
	switch errno {
	case unix.ENOENT:
		return cannotRun(programMissing, "%s: no such program", name)
	case unix.ENOEXEC:
		return cannotRun(programUnusable, "%s: not a program that this machine can run, nor a script with a #! line", name)
	case unix.EACCES:
		return cannotRun(programUnusable, "%s: %s", name, errno.Error())
	case unix.E2BIG, unix.ENAMETOOLONG: // gVisor returns the latter for one string that is too long
		return invalid("%s: arguments and environment together are too long: %s", name, sizeRemedy)
	case unix.EAGAIN:
		return fault.New(fault.Conflict, "%s: the runtime is at its limit of processes", name)
	case unix.ENOMEM:
		return fault.New(fault.Conflict, "%s: the runtime is out of memory", name)
	default:
		return invalid("%s: %s", name, errno.Error())
	}
}

func programAt(path, dir string) unix.Errno {
	if !strings.HasPrefix(path, "/") {
		path = dir + "/" + path
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		errno, _ := err.(unix.Errno)
		return errno
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0 {
		return unix.EACCES
	}
	return 0
}
