package contain

import (
	"os"

	"golang.org/x/sys/unix"
)

// devices are the nodes of every container (OCI runtime-spec, config-linux.md, default devices) and
// their numbers (Documentation/admin-guide/devices.txt).
var devices = map[string]uint64{
	"null":    unix.Mkdev(1, 3),
	"zero":    unix.Mkdev(1, 5),
	"full":    unix.Mkdev(1, 7),
	"random":  unix.Mkdev(1, 8),
	"urandom": unix.Mkdev(1, 9),
	"tty":     unix.Mkdev(5, 0),
}

// ownDevices mounts the container's own nodes over /dev. In a user namespace a runner cannot make
// nodes, and shows those of the host. Locks and watches on those would be shared with all other
// programs.
func ownDevices() error {
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=64k"); err != nil {
		return err
	}
	for name, number := range devices {
		path := "/dev/" + name
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(number)); err != nil {
			return &os.PathError{Op: "mknod", Path: path, Err: err}
		}
		if err := os.Chmod(path, 0o666); err != nil { // mknod obeys the umask
			return err
		}
	}
	return nil
}
