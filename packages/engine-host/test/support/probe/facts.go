package main

import (
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// facts prints what code inside can see of the outside and what it is let do, as JSON.
func facts() {
	status, _ := os.ReadFile("/proc/self/status")
	mounts, _ := os.ReadFile("/proc/self/mounts")
	interfaces, _ := net.Interfaces()
	var names []string
	for _, each := range interfaces {
		names = append(names, each.Name)
	}
	sockets, devices := special()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"status":     string(status),
		"mounts":     string(mounts),
		"interfaces": names,
		"loopback":   loopback(),
		"sockets":    sockets,
		"devices":    devices,
		"readable":   openable(readables, os.O_RDONLY),
		"writable":   openable(writables, os.O_WRONLY),
		"host":       visible(os.Args[len(os.Args)-1]),
		"blockNode":  blockNode(),
		"pid1":       firstProcess(),
		"calls":      calls(), // Last: where a call is let through it changes what this process may do.
	})
}

var readables = []string{"/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/proc/slabinfo",
	"/proc/kpageflags", "/sys/firmware/acpi", "/sys/kernel/debug/tracing", "/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/vda", "/dev/sda", "/dev/loop0"}

var writables = []string{"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/modprobe",
	"/sys/kernel/uevent_helper", "/sys/power/state", "/run/holt/new", "/run/holt-guest", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max"}

// openable lists which of the paths can be opened and, for reading, have something to read.
func openable(paths []string, mode int) []string {
	found := []string{}
	for _, path := range paths {
		file, err := os.OpenFile(path, mode|syscall.O_NONBLOCK|creating(path, mode), 0o600)
		if err != nil {
			continue
		}
		n := 1
		if mode == os.O_RDONLY {
			n, _ = file.Read(make([]byte, 16))
		}
		if n > 0 {
			found = append(found, path)
		}
		file.Close()
	}
	return found
}

func creating(path string, mode int) int {
	if mode == os.O_WRONLY && strings.HasPrefix(path, "/run/holt/") {
		return os.O_CREATE
	}
	return 0
}

// special lists sockets and device nodes in the whole tree but /proc and /sys.
func special() (sockets, devices []string) {
	sockets, devices = []string{}, []string{}
	filepath.WalkDir("/", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if path == "/proc" || path == "/sys" {
			return fs.SkipDir
		}
		if entry.Type()&fs.ModeSocket != 0 {
			sockets = append(sockets, path)
		}
		if entry.Type()&fs.ModeDevice != 0 {
			devices = append(devices, path)
		}
		return nil
	})
	return
}

func loopback() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err.Error()
	}
	defer listener.Close()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err.Error()
	}
	connection.Close()
	return "works"
}

func visible(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func firstProcess() string {
	text, _ := os.ReadFile("/proc/1/cmdline")
	return strings.ReplaceAll(string(text), "\x00", " ")
}

// blockNode makes a node for the host's first loop device and tries to open it.
func blockNode() string {
	defer os.Remove("/tmp/node")
	if err := syscall.Mknod("/tmp/node", syscall.S_IFBLK|0o600, 7<<8); err != nil {
		return "mknod: " + err.Error()
	}
	file, err := os.Open("/tmp/node")
	if err != nil {
		return "open: " + err.Error()
	}
	file.Close()
	return "opened"
}

// calls makes system calls that reach for the kernel, with arguments that change nothing should one be let through, and answers with their errno.
func calls() map[string]string {
	if runtime.GOARCH != "amd64" {
		return nil // The numbers below are of x86-64.
	}
	path, _ := syscall.BytePtrFromString("/tmp")
	none, _ := syscall.BytePtrFromString("none")
	at := uintptr(unsafe.Pointer(path))
	numbers := map[string][]uintptr{
		"mount":             {165, uintptr(unsafe.Pointer(none)), at, uintptr(unsafe.Pointer(none)), 0, 0},
		"umount2":           {166, at, 0},
		"pivot_root":        {155, at, at},
		"unshare_user":      {272, 0x10000000},
		"unshare_mount":     {272, 0x00020000},
		"unshare_net":       {272, 0x40000000},
		"setns":             {308, 0, 0},
		"bpf":               {321, 0, 0, 0},
		"keyctl":            {250, 0, 0xfffffffd, 0},
		"add_key":           {248, at, at, 0, 0, 0xfffffffd},
		"request_key":       {249, at, at, 0, 0xfffffffd},
		"perf_event_open":   {298, 0, 0, 0xffffffff, 0xffffffff, 0},
		"userfaultfd":       {323, 0},
		"io_uring_setup":    {425, 1, 0},
		"open_by_handle_at": {304, 0, 0, 0},
		"kexec_load":        {246, 0, 0, 0, 0},
		"init_module":       {175, 0, 0, at},
		"finit_module":      {313, 0, at, 0},
		"delete_module":     {176, at, 0},
		"swapon":            {167, at, 0},
		"reboot":            {169, 0, 0, 0},
		"settimeofday":      {164, 0, 0},
		"syslog":            {103, 10, 0, 0},
		"iopl":              {172, 3},
		"quotactl":          {179, 0, 0, 0, 0},
		"fsopen":            {430, at, 0},
		"open_tree":         {428, 0, at, 0},
		"clone3":            {435, 0, 0},
		"sethostname":       {170, at, 0},
		"socket_vsock":      {41, 40, 1, 0},
		"socket_alg":        {41, 38, 5, 0},
		"socket_packet":     {41, 17, 3, 0},
	}
	results := map[string]string{}
	for name, call := range numbers {
		call = append(call, 0, 0, 0, 0, 0, 0)
		_, _, errno := syscall.RawSyscall6(call[0], call[1], call[2], call[3], call[4], call[5], call[6])
		results[name] = nameOf(errno)
	}
	return results
}

func nameOf(errno syscall.Errno) string {
	switch errno {
	case 0:
		return "allowed"
	case syscall.EPERM:
		return "EPERM"
	case syscall.ENOSYS:
		return "ENOSYS"
	case syscall.EACCES:
		return "EACCES"
	}
	return errno.Error()
}
