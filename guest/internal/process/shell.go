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

// maxStateBytes limits the state of a session. The functions of large tools have about 200 KiB.
const maxStateBytes = 1 << 20

// maxDirectoryBytes limits the directory of a session, because one chdir accepts PATH_MAX bytes.
const maxDirectoryBytes = 4096

// Descriptors through which a session's shell reads the previous state and writes its own. The
// numbers are far from those in scripts. The shell opens them by path, because a plain sh accepts
// only descriptors of one digit.
const (
	stateFd = 100
	leftFd  = 101
)

// shell is a program that runs the commands of a session.
type shell struct {
	path string
	exit string // ends the shell, even if the command has redefined exit
	// The script writes to leftFd: the directory, a newline, a NUL, a script that restores the
	// rest, a NUL and leftMark.
	save string
}

const leftMark = "ok"

// saveBash saves functions with their attributes, the umask, and all variables except those that
// bash sets itself. It contains no single quotes, because it is put between them.
var saveBash = `__holt_status=$?; { builtin trap - DEBUG ERR RETURN; builtin set +eux; } 2>/dev/null; ` +
	`{ builtin pwd; builtin printf "\000"; builtin umask -p; for __holt_name in ` + everyName() + `; do case $__holt_name in ` +
	`BASH_ENV) builtin declare -p BASH_ENV;; ` +
	`__holt_*|_|BASH|BASHOPTS|BASHPID|BASH_*|COMP_*|COMPREPLY|DIRSTACK|EPOCHREALTIME|EPOCHSECONDS|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|` +
	`OPTARG|OPTIND|PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SRANDOM|UID) ;; ` +
	`*) builtin declare -p "$__holt_name";; esac; done; builtin declare -f; builtin declare -Fx; builtin printf "\000%s" ` + leftMark + `; } >| ` + fdPath(leftFd) + ` 2>/dev/null`

// saveSh saves exported variables and the umask, which are what POSIX lets a shell print.
var saveSh = `__holt_status=$?; { set +eux; } 2>/dev/null; ` +
	`{ pwd; printf "\000umask "; umask; export -p; printf "\000%s" ` + leftMark + `; } >| ` + fdPath(leftFd) + ` 2>/dev/null`

// everyName expands, in bash and without a child process, to the names of all variables.
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

// argv returns the arguments that run a command in the shell. The shell first restores the state,
// and saves it when the shell ends or calls exit. A list of arguments runs as one simple command,
// which may be a builtin or a function.
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

// stateFiles are the two files of a command in a session, in memory and without a name.
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
			_ = unix.Close(fd) // nothing to flush
		}
	}
	f.state, f.left = -1, -1
}

// read returns the state that a command left, and true if it is complete.
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

// parseLeft parses the output of a shell's save script.
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

// prepare changes a planned start to one of the session's shell, and returns its directory.
func (u *turn) prepare(p *Process, start *supervise.Start) (cwd string, err error) {
	s := u.session
	u.table.mu.Lock()
	state, cwd := s.state, s.cwd
	u.table.mu.Unlock()
	var script bytes.Buffer
	if state != nil {
		script.Write(state)
		// The state contains the environment, without the variables that earlier commands unset.
		start.Env = nil
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

// enterDirectory writes script lines that enter the directory of the previous command. If it is
// gone, they enter another one and print a message.
func enterDirectory(script *bytes.Buffer, name, cwd, instead string) {
	fmt.Fprintf(script, "\n__holt_old=${OLDPWD-}; cd -- %s 2>/dev/null || { printf '%%s\\n' %s >&2; cd -- %s || cd /; }\n",
		quote(cwd), quote(fmt.Sprintf("holt: session %s: %s is gone; now in %s", name, cwd, instead)), quote(instead))
	script.WriteString("OLDPWD=$__holt_old; unset __holt_old\n")
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
