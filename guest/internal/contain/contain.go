// Package contain prepares the root and the users of a container on the host, and then executes its
// runner.
package contain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ids is the number of users, and of groups, of a container.
const Ids = 65_536

// runnerUmask lets every user inside read the cgroup directories that a runner creates.
const runnerUmask = 0o022

// Main makes a user namespace and the container's root in it, and then executes the program after
// "--". The caller must lock its thread, because it moves between namespaces. Errors are written to
// the runner's log. Main returns only after a failure.
func Main(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case holdVerb:
			return hold()
		case probeVerb:
			return probe(args[1:])
		case proveVerb:
			return prove()
		}
	}
	r, err := parse(args)
	if err == nil {
		err = r.start()
	}
	r.say(err)
	return 1
}

func (r *request) start() error {
	host, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	target, err := unix.Open(r.rootfs, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: r.rootfs, Err: err}
	}
	// The kernel charges a user namespace to the user who made it, and an overlay writes as the
	// user who mounted it.
	restore, err := becomeUser(r.firstID)
	if err != nil {
		return err
	}
	users, end, err := newUsers(r.firstID)
	if err != nil {
		return err
	}
	defer end()
	image, err := idmapped(r.image, users)
	if err != nil {
		return err
	}
	disk, err := idmapped(r.disk, users)
	if err != nil {
		return err
	}
	if err := r.ownMounts(users); err != nil {
		return err
	}
	if err := r.mountRoot(image, disk); err != nil {
		return err
	}
	if err := r.showHost(host, target); err != nil {
		return err
	}
	if err := restore(); err != nil {
		return err
	}
	end()
	return r.becomeRunner()
}

// ownMounts moves the thread into its own mount namespace, with an empty directory that every user
// may enter. The state directory does not allow that, and the runner resolves the root as a user of
// the container. A file there gives the user namespace a name.
func (r *request) ownMounts(users int) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	if err := unix.Mount("tmpfs", r.place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=64k"); err != nil {
		return fmt.Errorf("tmpfs on %s: %w", r.place, err)
	}
	for _, name := range []string{"root", "image", "disk"} {
		if err := os.Mkdir(filepath.Join(r.place, name), 0o755); err != nil {
			return err
		}
	}
	if err := ownDevices(); err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	named := filepath.Join(r.place, "users")
	if err := os.WriteFile(named, nil, 0o444); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/thread-self/fd/%d", users), named, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("user namespace by name: %w", err)
	}
	return nil
}

// mountRoot mounts the disk over the image. Names are relative, because the kernel shows them to
// the container. "redirect_dir=on" lets a directory of the image be renamed, which package managers
// do (otherwise EXDEV, Documentation/filesystems/overlayfs.rst). With "metacopy=on" a changed mode
// would leave a file's content to a link that the upper layer could forge.
func (r *request) mountRoot(image, disk int) error {
	for name, tree := range map[string]int{"image": image, "disk": disk} {
		if err := unix.MoveMount(tree, "", unix.AT_FDCWD, filepath.Join(r.place, name), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("move_mount %s: %w", name, err)
		}
	}
	if err := os.Chdir(r.place); err != nil {
		return err
	}
	const options = "lowerdir=image,upperdir=disk/upper,workdir=disk/work,redirect_dir=on,metacopy=off"
	if err := unix.Mount(r.name, "root", "overlay", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	// The overlay keeps its own mounts of both.
	for _, name := range []string{"image", "disk"} {
		if err := unix.Unmount(name, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("umount %s: %w", name, err)
		}
	}
	return os.Chdir("/")
}

// showHost mounts the root on the host as well. The host unmounts it before the disk.
func (r *request) showHost(host, target int) error {
	own, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(own)
	root, err := unix.OpenTree(unix.AT_FDCWD, filepath.Join(r.place, "root"), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	defer unix.Close(root)
	if err := unix.Setns(host, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	if err := unix.MoveMount(root, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	if err := unix.Setns(own, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	return nil
}

// limit sets limits that the container inherits. The runner cannot set them: changing the limits of
// another user's process needs CAP_SYS_RESOURCE (prlimit(2)), which some hosts lack.
func (r *request) limit() error {
	files := syscall.Rlimit{Cur: r.openFiles, Max: r.openFiles}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("open files: %w", err)
	}
	// A core dump would hold secrets.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("core dumps: %w", err)
	}
	return nil
}

func (r *request) becomeRunner() error {
	path, err := exec.LookPath(r.runner[0])
	if err != nil {
		return err
	}
	if err := r.limit(); err != nil {
		return err
	}
	syscall.Umask(runnerUmask)
	return os.NewSyscallError("execve", syscall.Exec(path, r.runner, os.Environ()))
}
