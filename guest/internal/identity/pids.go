package identity

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pidsDir is where the controller is mounted for the moment in which its group is opened.
const pidsDir = "/run/.holt-pids"

// LimitPids makes a group of the pids controller (cgroup v1: gVisor has one of its own) whose tasks
// cannot be more than max. The join that it answers puts the main thread of a process in; what that
// thread starts is born in the group. Only a thread goes in, so that the guest's own threads are
// not counted. The mount is detached again: the group is reached through its descriptor, and nobody
// else sees it.
func LimitPids(max int64) (join func(pid int) error, err error) {
	if err := os.Mkdir(pidsDir, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	defer os.Remove(pidsDir)
	if err := unix.Mount("none", pidsDir, "cgroup", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "pids"); err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	defer unix.Unmount(pidsDir, unix.MNT_DETACH)
	group := pidsDir + "/holt"
	if err := os.Mkdir(group, 0o755); err != nil && !os.IsExist(err) {
		return nil, err
	}
	if err := os.WriteFile(group+"/pids.max", []byte(strconv.FormatInt(max, 10)), 0); err != nil {
		return nil, err
	}
	tasks, err := unix.Open(group+"/tasks", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return func(pid int) error {
		_, err := unix.Pwrite(tasks, []byte(strconv.Itoa(pid)), 0)
		return err
	}, nil
}
