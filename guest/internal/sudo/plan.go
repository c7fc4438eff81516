package sudo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/process"
	"holt.dev/guest/internal/supervise"
)

const (
	realSudo  = "/usr/bin/sudo"
	groupName = "sudo"
)

// plan decides whether a caller may be root, and works out what to execute: the image's own sudo, which needs no setuid bit
// when root runs it, or, where there is none, the command itself.
func plan(r *request, uid uint32) (*supervise.Start, error) {
	if err := authorize(accounts.Current(), uid); err != nil {
		return nil, err
	}
	if err := checkDirectory(r); err != nil {
		return nil, err
	}
	if hasRealSudo() {
		return &supervise.Start{
			Path: realSudo, Argv: append([]string{"sudo"}, r.Argv[1:]...), Env: withoutLoader(r.Env), Dir: r.Dir, Umask: r.Umask,
			Switch: true,
		}, nil
	}
	return planAlone(r, uid)
}

func authorize(db *accounts.Database, uid uint32) error {
	if uid == 0 || db.InGroup(uid, groupName) {
		return nil
	}
	return fmt.Errorf("%s is not in the group %s", db.UserName(uid), groupName)
}

// checkDirectory refuses a directory that is not what the caller has under that name: it has been removed, or the caller is
// in a file system of its own.
func checkDirectory(r *request) error {
	var st unix.Stat_t
	if !strings.HasPrefix(r.Dir, "/") || unix.Stat(r.Dir, &st) != nil || st.Dev != r.Dev || st.Ino != r.Ino {
		return errors.New("the working directory is gone, or is not the runtime's")
	}
	return nil
}

// hasRealSudo tells whether the image has a sudo that would be root's if the kernel let it.
func hasRealSudo() bool {
	var st unix.Stat_t
	return unix.Stat(realSudo, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Uid == 0 && st.Mode&0o111 != 0
}

// withoutLoader leaves out what ld.so(8) ignores for a program with the setuid bit.
func withoutLoader(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(line string) bool {
		return strings.HasPrefix(line, "LD_") || strings.HasPrefix(line, "GLIBC_TUNABLES=")
	})
}

// planAlone does what sudo would.
func planAlone(r *request, uid uint32) (*supervise.Start, error) {
	o, err := parseOptions(r.Argv[1:])
	if err != nil {
		return nil, err
	}
	db := accounts.Current()
	user, err := db.Lookup(strings.TrimPrefix(o.user, "#"))
	if err != nil {
		return nil, err
	}
	env := o.environment(r.Env, user, db.UserName(uid))
	start := &supervise.Start{
		Argv: o.argv(user.Shell), Env: flatten(env), Dir: r.Dir, Umask: r.Umask,
		UID: user.UID, GID: user.GID, Groups: user.Groups, Switch: true,
	}
	name := start.Argv[0]
	if o.login {
		name, start.Dir = user.Shell, loginDir(user)
	} else if len(o.command) == 0 {
		name = user.Shell
	}
	start.Path, err = process.LookProgram(name, env["PATH"], start.Dir)
	return start, err
}

func loginDir(user *accounts.User) string {
	var st unix.Stat_t
	if unix.Stat(user.Home, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return user.Home
	}
	return "/"
}

func flatten(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return list
}
