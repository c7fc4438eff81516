package process

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/supervise"
)

// maxStateBytes bounds what a session carries from command to command; functions of large tools are
// some 200 KiB.
const maxStateBytes = 1 << 20

// maxDirectoryBytes bounds the directory of a session, as PATH_MAX bounds what can be entered at
// once.
const maxDirectoryBytes = 4096

// Where a session's shell reads what the command before left, and writes what it leaves itself. Far
// from the numbers that scripts use, and named by path, as a plain sh knows descriptors of one
// digit only.
const (
	stateFd = 100
	leftFd  = 101
)

// shell is a program that runs the commands of a session.
type shell struct {
	path string
	exit string // ends it, whatever functions the command has defined
	save string // writes, to leftFd, the directory, a newline, a NUL, a script that makes the rest again, a NUL and leftMark
}

const leftMark = "ok"

// saveBash keeps every variable but those that bash makes itself, functions with their attributes,
// and the umask. It sits between single quotes, so it has none.
var saveBash = `__holt_status=$?; { builtin trap - DEBUG ERR RETURN; builtin set +eux; } 2>/dev/null; ` +
	`{ builtin pwd; builtin printf "\000"; builtin umask -p; for __holt_name in ` + everyName() + `; do case $__holt_name in ` +
	`BASH_ENV) builtin declare -p BASH_ENV;; ` +
	`__holt_*|_|BASH|BASHOPTS|BASHPID|BASH_*|COMP_*|COMPREPLY|DIRSTACK|EPOCHREALTIME|EPOCHSECONDS|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|` +
	`OPTARG|OPTIND|PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SRANDOM|UID) ;; ` +
	`*) builtin declare -p "$__holt_name";; esac; done; builtin declare -f; builtin declare -Fx; builtin printf "\000%s" ` + leftMark + `; } >| ` + fdPath(leftFd) + ` 2>/dev/null`

// saveSh keeps exported variables and the umask, which is what POSIX can tell of a shell.
var saveSh = `__holt_status=$?; { set +eux; } 2>/dev/null; ` +
	`{ pwd; printf "\000umask "; umask; export -p; printf "\000%s" ` + leftMark + `; } >| ` + fdPath(leftFd) + ` 2>/dev/null`

// everyName expands, in bash and without a child, to the names of all variables that are set.
func everyName() string {
	var b strings.Builder
	for _, c := range "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		fmt.Fprintf(&b, `"${!%c@}" `, c)
	}
	return b.String()
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

var plainShell = shell{"/bin/sh", "exit", saveSh}

func findShell() shell {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if programAt(path, "/") == 0 {
			return shell{path, "builtin exit", saveBash}
		}
	}
	return plainShell
}

// argv runs a command in the shell: after what was left for it, with what it leaves written when
// the shell ends, by itself or by exit. A list of arguments runs as one simple command, which may
// be a builtin or a function.
func (h shell) argv(spec *Spec) []string {
	name := h.path[strings.LastIndexByte(h.path, '/')+1:]
	run := `"$@"`
	arguments := spec.Argv
	if spec.Command != nil {
		run, arguments = `eval "shift; $1"`, []string{*spec.Command}
	}
	script := fmt.Sprintf(`. %s; trap '%s' EXIT; %s; %s; %s "$__holt_status"`, fdPath(stateFd), h.save, run, h.save, h.exit)
	return append([]string{h.path, "-c", script, name}, arguments...)
}

// stateFiles are the two files of a command in a session: in memory, without a name.
type stateFiles struct{ state, left int }

func newStateFiles(script []byte, uid, gid uint32) (*stateFiles, error) {
	f := &stateFiles{-1, -1}
	var err error
	for _, fd := range []*int{&f.state, &f.left} {
		if *fd, err = unix.MemfdCreate("holt-session", unix.MFD_CLOEXEC); err == nil {
			err = unix.Fchown(*fd, int(uid), int(gid))
		}
		if err != nil {
			f.close()
			return nil, err
		}
	}
	for at := 0; at < len(script); {
		n, err := unix.Pwrite(f.state, script[at:], int64(at))
		if err != nil {
			f.close()
			return nil, err
		}
		at += n
	}
	return f, nil
}

func (f *stateFiles) close() {
	if f == nil {
		return
	}
	for _, fd := range []int{f.state, f.left} {
		if fd >= 0 {
			_ = unix.Close(fd) // nothing is to be flushed
		}
	}
	f.state, f.left = -1, -1
}

// read answers what a command left, where it is complete.
func (f *stateFiles) read() (state []byte, cwd string, ok bool) {
	if f == nil {
		return nil, "", false
	}
	b := make([]byte, 0, 16<<10)
	for len(b) <= maxStateBytes {
		b = slices.Grow(b, 4<<10)
		n, err := unix.Pread(f.left, b[len(b):cap(b)], int64(len(b)))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, "", false
		}
		if n == 0 {
			break
		}
		b = b[:len(b)+n]
	}
	return parseLeft(b)
}

// parseLeft takes apart what a shell wrote at its end.
func parseLeft(b []byte) (state []byte, cwd string, ok bool) {
	parts := bytes.Split(b, []byte{0})
	if len(b) > maxStateBytes || len(parts) != 3 || string(parts[2]) != leftMark {
		return nil, "", false
	}
	directory, found := bytes.CutSuffix(parts[0], []byte("\n"))
	if !found || !bytes.HasPrefix(directory, []byte("/")) || len(directory) > maxDirectoryBytes {
		return nil, "", false
	}
	return bytes.Clone(parts[1]), string(directory), true
}

// prepare makes a planned start one of the session's shell, and answers the directory it begins in.
func (u *turn) prepare(p *Process, start *supervise.Start) (cwd string, err error) {
	s := u.session
	u.table.mu.Lock()
	state, cwd := s.state, s.cwd
	u.table.mu.Unlock()
	var script bytes.Buffer
	if state != nil {
		script.Write(state)
		start.Env = nil // all of it is in the state, but for what the commands before unset
		if p.spec.Cwd == nil {
			enterDirectory(&script, s.name, cwd, start.Dir)
		}
	}
	if state == nil || p.spec.Cwd != nil {
		cwd = start.Dir
	}
	if state != nil && p.spec.Cwd != nil {
		fmt.Fprintf(&script, "\ncd -- %s || exit 126\n", quote(cwd))
	}
	if state != nil {
		start.Dir = "/"
		for _, name := range slices.Sorted(maps.Keys(p.spec.Env)) {
			fmt.Fprintf(&script, "\nexport %s=%s\n", name, quote(p.spec.Env[name]))
		}
	}
	start.Path, start.Argv = s.shell.path, s.shell.argv(&p.spec)
	if u.files, err = newStateFiles(script.Bytes(), start.UID, start.GID); err != nil {
		return "", fault.New(fault.Internal, "session %s: %s", s.name, err)
	}
	start.Extra = []supervise.ExtraFile{{Fd: u.files.state, At: stateFd}, {Fd: u.files.left, At: leftFd}}
	return cwd, nil
}

// enterDirectory writes how to get where the command before was, or where the runtime's commands
// begin, and to say so.
func enterDirectory(script *bytes.Buffer, name, cwd, instead string) {
	fmt.Fprintf(script, "\n__holt_old=${OLDPWD-}; cd -- %s 2>/dev/null || { printf '%%s\\n' %s >&2; cd -- %s || cd /; }\n",
		quote(cwd), quote(fmt.Sprintf("holt: session %s: %s is gone; now in %s", name, cwd, instead)), quote(instead))
	script.WriteString("OLDPWD=$__holt_old; unset __holt_old\n")
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
