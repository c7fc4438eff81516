package identity

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pidsDir is the mount point of the controller while its group is opened.
const pidsDir = "/run/.holt-pids"

// LimitPids makes a group of the pids controller with at most max tasks (cgroup v1, which gVisor
// implements itself). join moves the main thread of a process into the group, and the children of
// that thread start in it. Only a thread is moved, so that the guest's own threads do not count.
// The mount is detached again: the group is used through its descriptor, and programs do not see
// it.
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
