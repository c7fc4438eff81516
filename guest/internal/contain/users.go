package contain

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// holdVerb starts the process with which a user namespace is made. The process waits until the
// namespace has a name.
const holdVerb = "hold"

func hold() int {
	_, _ = os.Stdin.Read(make([]byte, 1)) // waits for the end of stdin
	return 0
}

// becomeUser gives the thread this effective user and group, keeps its capabilities, and returns a
// function that restores the old ids.
func becomeUser(id int) (restore func() error, err error) {
	if err := effective(id); err != nil {
		return nil, err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return nil, fmt.Errorf("capget: %w", err)
	}
	for i := range sets {
		sets[i].Effective = sets[i].Permitted
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return nil, fmt.Errorf("capset: %w", err)
	}
	return func() error { return effective(0) }, nil
}

// effective sets the effective ids of this thread only; package syscall sets those of all threads.
func effective(id int) error {
	const same = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, same, uintptr(id), same); errno != 0 {
		return os.NewSyscallError("setresgid", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(id), same); errno != 0 {
		return os.NewSyscallError("setresuid", errno)
	}
	return nil
}

// newUsers makes a user namespace that maps its ids from 0 to the host's ids from firstID. The
// namespace exists as long as the descriptor or a name does. end ends the process with which it was
// made.
func newUsers(firstID int) (namespace int, end func(), err error) {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: firstID, Size: Ids}}
	holder := exec.Command("/proc/self/exe", "contain", holdVerb)
	holder.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 syscall.CLONE_NEWUSER,
		UidMappings:                ids,
		GidMappings:                ids,
		GidMappingsEnableSetgroups: true,
		Pdeathsig:                  syscall.SIGKILL,
	}
	stdin, err := holder.StdinPipe()
	if err != nil {
		return -1, nil, err
	}
	if err := holder.Start(); err != nil {
		return -1, nil, fmt.Errorf("user namespace: %w", err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		_ = stdin.Close()
		_ = holder.Wait() // its exit code has no meaning
	}
	namespace, err = unix.Open(fmt.Sprintf("/proc/%d/ns/user", holder.Process.Pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		end()
		return -1, nil, fmt.Errorf("user namespace: %w", err)
	}
	return namespace, end, nil
}

// idmapped clones a mount so that a file of user n belongs to user n of the namespace
// (mount_setattr(2)). On disk, n remains the owner.
func idmapped(path string, users int) (tree int, err error) {
	tree, err = unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(users)}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attributes); err != nil {
		unix.Close(tree)
		return -1, &os.PathError{Op: "mount_setattr", Path: path, Err: err}
	}
	return tree, nil
}
