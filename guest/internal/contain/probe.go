package contain

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeVerb tries the steps that start a container, without a container, and reverts them.
// proveVerb is the part that runs inside.
const (
	probeVerb = "probe"
	proveVerb = "prove"
)

// finding is the step of a probe that failed. Errno is 0 if the failure has no number.
type finding struct {
	Step    string        `json:"step"`
	Errno   syscall.Errno `json:"errno"`
	Message string        `json:"message"`
}

// probe runs "holt-guest contain probe STATE-DIR PLACE". If a step fails, it writes the finding in
// JSON and returns 1. Its mounts and namespaces disappear when it exits.
func probe(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: holt-guest contain probe STATE-DIR PLACE")
		return 2
	}
	step, err := tryAll(args[0], &request{place: args[1], firstID: probeID})
	if err == nil {
		return 0
	}
	found := finding{Step: step, Message: err.Error()}
	errors.As(err, &found.Errno)
	_ = json.NewEncoder(os.Stdout).Encode(found) // the exit code reports the failure as well
	return 1
}

// probeID is the first id of the last range that containers get (runtimes/id-ranges.ts of
// engine-host).
const probeID = 0x7ffd_0000

func tryAll(stateDir string, r *request) (step string, err error) {
	if _, err := becomeUser(r.firstID); err != nil {
		return "users", err
	}
	users, end, err := newUsers(r.firstID)
	if err != nil {
		return "users", err
	}
	defer end()
	tree, err := idmapped(stateDir, users)
	// EINVAL means that this file system has no support. Images and disks are separate file systems
	// that have it.
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return "idmap", err
	}
	if err == nil {
		unix.Close(tree)
	}
	if err := r.ownMounts(users); err != nil {
		return "mounts", err
	}
	return "proc", proveProc(r.firstID)
}

// proveProc mounts proc in new user, process and mount namespaces, as a runner does.
func proveProc(firstID int) error {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: firstID, Size: Ids}}
	inside := exec.Command("/proc/self/exe", "contain", proveVerb)
	inside.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		UidMappings:                ids,
		GidMappings:                ids,
		GidMappingsEnableSetgroups: true,
		Pdeathsig:                  syscall.SIGKILL,
	}
	err := inside.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return os.NewSyscallError("mount proc", syscall.Errno(exit.ExitCode()))
	}
	return err
}

// prove runs inside the namespaces. Its exit code is the error number of the mount.
func prove() int {
	err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return int(errno)
	}
	return 0
}
