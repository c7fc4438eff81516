package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// kernel prints as JSON the parts of the host's kernel that code inside reaches: terminals,
// sockets, and the entries of /proc and /sys.
func kernel() {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"terminals": terminals(),
		"sockets":   sockets(),
		"pairs":     pairs(),
		"aio":       aio(),
		"uevents":   uevents(),
		"proc":      procShows(),
		"sys":       sysShows(),
		"root":      optionsOf(string(mounts), "/"),
		"mounts":    string(mounts),
		"openFiles": openFiles(),
		"limits":    changesLimits(),
	})
}

// terminals counts those that can be open at once.
func terminals() int {
	var open []int
	for len(open) < 1024 {
		fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		open = append(open, fd)
	}
	for _, fd := range open {
		syscall.Close(fd)
	}
	return len(open)
}

// families are those of linux/socket.h up to AF_MCTP.
const families = 46

// sockets lists as "family protocol" every kind that can be made, of any type but raw.
func sockets() []string {
	made := []string{}
	for family := 1; family < families; family++ {
		for protocol := 0; protocol <= 262; protocol++ {
			for _, kind := range []int{syscall.SOCK_STREAM, syscall.SOCK_DGRAM, syscall.SOCK_SEQPACKET} {
				fd, err := syscall.Socket(family, kind, protocol)
				if err == nil {
					syscall.Close(fd)
					made = append(made, fmt.Sprintf("%d %d", family, protocol))
					break
				}
			}
		}
	}
	return made
}

// pairs lists the families of which a socket pair can be made, or is refused by something other
// than the filter.
func pairs() []int {
	made := []int{}
	for family := 1; family < families; family++ {
		if _, err := syscall.Socketpair(family, syscall.SOCK_STREAM, 0); err != syscall.EPERM {
			made = append(made, family)
		}
	}
	return made
}

// aio asks for a queue of one event (io_setup(2)).
func aio() string {
	number := uintptr(206)
	if syscall.SYS_GETPID != 39 {
		number = 0 // Every architecture but x86-64 has the kernel's generic numbers.
	}
	_, _, errno := syscall.RawSyscall(number, 1, 0, 0)
	return nameOf(errno)
}

// uevents asks for the host's news of its devices (netlink(7), NETLINK_KOBJECT_UEVENT).
func uevents() string {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return err.Error()
	}
	syscall.Close(fd)
	return "allowed"
}

// procShows lists what is directly in /proc, of no process, and has content.
func procShows() []string {
	entries, _ := os.ReadDir("/proc")
	shown := []string{}
	for _, entry := range entries {
		name := entry.Name()
		if strings.Trim(name, "0123456789") == "" || entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		if hasContent(filepath.Join("/proc", name)) {
			shown = append(shown, name)
		}
	}
	return shown
}

// sysShows lists the directories of /sys with a readable file, shortened to three names.
func sysShows() []string {
	found := map[string]bool{}
	filepath.WalkDir("/sys", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && hasContent(path) {
			parts := strings.Split(filepath.Dir(path), "/")
			found[strings.Join(parts[:min(len(parts), 5)], "/")] = true
		}
		return nil
	})
	shown := []string{}
	for path := range found {
		shown = append(shown, path)
	}
	sort.Strings(shown)
	return shown
}

// hasContent tells of a file that can be read, and of a directory that lists something.
func hasContent(path string) bool {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	if names, err := file.Readdirnames(1); err == nil {
		return len(names) > 0
	}
	n, _ := file.Read(make([]byte, 1))
	return n > 0
}

// openFiles returns how many files a program that this one starts may have open.
func openFiles() string {
	read, write, err := os.Pipe()
	if err != nil {
		return err.Error()
	}
	// Go's runtime has raised the limit for itself, and gives children the one of before.
	process, err := os.StartProcess("/bin/probe", []string{"cat", "/proc/self/limits"}, &os.ProcAttr{Files: []*os.File{nil, write, nil}})
	if err != nil {
		return err.Error()
	}
	write.Close()
	text, _ := io.ReadAll(read)
	process.Wait()
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, "Max open files"); found {
			return strings.Join(strings.Fields(rest)[:1], " ")
		}
	}
	return ""
}

// changesLimits lists what can be made or written below /sys/fs/cgroup.
func changesLimits() []string {
	changed := []string{}
	filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entry.IsDir() {
			if os.Mkdir(path+"/probe", 0o700) == nil {
				changed = append(changed, path)
			}
		} else if file, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			file.Close()
			changed = append(changed, path)
		}
		return nil
	})
	return changed
}

// takeInotify takes every inotify instance that this user may have, prints their number, and keeps
// them.
func takeInotify() {
	count := 0
	for count < 1<<16 {
		if _, err := syscall.InotifyInit1(syscall.IN_CLOEXEC); err != nil {
			break
		}
		count++
	}
	fmt.Println(count)
	time.Sleep(time.Hour)
}

// optionsOf returns the options of what is mounted at a point.
func optionsOf(mounts, point string) []string {
	for _, line := range strings.Split(mounts, "\n") {
		if fields := strings.Fields(line); len(fields) > 3 && fields[1] == point {
			return strings.Split(fields[3], ",")
		}
	}
	return nil
}
