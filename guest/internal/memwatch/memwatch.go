// Package memwatch reports to the daemon that a runtime has reached its memory limit. It runs on
// the host. cgroup version 1 reports by eventfd(2) only, which Node does not offer.
package memwatch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// request asks to watch a runtime until its cgroup is gone. With Continue it asks to continue its
// stopped processes.
type request struct {
	ID       string `json:"id"`
	Continue bool   `json:"go_on"`
	// Dir is the runtime's directory in the hierarchy that has the memory controller.
	Dir string `json:"dir"`
	// Thresholds are amounts of memory in use, in bytes. The kernel reports each crossing, in both
	// directions. Empty in version 2, which reports each excess over memory.high.
	Thresholds []int64 `json:"thresholds"`
	// LimitBytes is the limit of the runtime. Above it, its processes are stopped until Continue.
	LimitBytes int64 `json:"limit_bytes"`
	// Sandbox is nil in the class container, where the kernel kills processes.
	Sandbox *sandbox `json:"sandbox"`
}

// report confirms that a runtime is watched, or refuses it (Error), or reports that the runtime is
// at its limit (Full). A report of Full can be out of date, so the daemon checks.
type report struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	Full  bool   `json:"full"`
}

// niceness is the priority of this process. While it waits for a processor, a runtime can take a
// GiB of memory.
const niceness = -10

// Main serves requests, one line of JSON each, until its stdin ends. The end of the daemon also
// ends it.
func Main() int {
	// PRIO_PGRP reaches all threads of this process. It needs CAP_SYS_NICE, and without it the
	// priority stays as it is.
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, niceness)
	if err := Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "memwatch:", err)
		return 1
	}
	return 0
}

// Serve answers requests until there are no more. Then it continues all processes that it has
// stopped.
func Serve(in io.Reader, out io.Writer) error {
	reporter := &reporter{out: json.NewEncoder(out)}
	changes := sync.OnceValues(newChanges)
	watched := map[string]*runtime{}
	defer func() {
		var all sync.WaitGroup
		for _, r := range watched {
			all.Go(r.close)
		}
		all.Wait()
	}()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		if r.Continue {
			if known := watched[r.ID]; known != nil {
				known.askContinue()
			}
			continue
		}
		forgetGone(watched)
		if known := watched[r.ID]; known != nil {
			known.askContinue() // the new watch starts without stopped processes
			known.forget()
		}
		watch, err := begin(r, changes)
		if err != nil {
			reporter.say(report{ID: r.ID, Error: err.Error()})
			continue
		}
		runtime := newRuntime(r, watch, reporter)
		watched[r.ID] = runtime
		reporter.say(report{ID: r.ID})
		go runtime.hear()
		go runtime.attend()
	}
	return lines.Err()
}

// forgetGone stops watching removed cgroups. Not every version of Linux reports their removal.
func forgetGone(watched map[string]*runtime) {
	for id, r := range watched {
		if !r.there() {
			r.forget()
			delete(watched, id)
		}
	}
}

type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (r *reporter) say(what report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(what) // if the daemon has ended, stdin ends as well
}

// watch receives the events of a cgroup.
type watch struct {
	wait func() bool // returns true when the limit may have been reached, false after the end of the watch
	end  func()      // makes wait return false
}

// begin begins to watch a cgroup.
func begin(r request, changes func() (*changes, error)) (watch, error) {
	if _, err := os.Stat(filepath.Join(r.Dir, "cgroup.event_control")); err == nil {
		return beginV1(r)
	}
	all, err := changes()
	if err != nil {
		return watch{}, err
	}
	return beginV2(r.Dir, all)
}

// beginV1 registers an eventfd for thresholds of memory.usage_in_bytes and for memory.oom_control
// (Linux, Documentation/admin-guide/cgroup-v1/memory.rst, sections 9 and 10). The kernel writes to
// it at each event, and when the cgroup is removed.
func beginV1(r request) (watch, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return watch{}, os.NewSyscallError("eventfd", err)
	}
	events := os.NewFile(uintptr(fd), "eventfd")
	register := func(file string, arguments ...string) error {
		watched, err := os.Open(filepath.Join(r.Dir, file))
		if err != nil {
			return err
		}
		defer watched.Close()
		line := strings.Join(append([]string{strconv.Itoa(fd), strconv.Itoa(int(watched.Fd()))}, arguments...), " ")
		return os.WriteFile(filepath.Join(r.Dir, "cgroup.event_control"), []byte(line), 0)
	}
	err = register("memory.oom_control")
	for _, threshold := range r.Thresholds {
		err = errors.Join(err, register("memory.usage_in_bytes", strconv.FormatInt(threshold, 10)))
	}
	if err != nil {
		return watch{}, errors.Join(err, events.Close())
	}
	wait := func() bool {
		var count [8]byte
		_, err := io.ReadFull(events, count[:])
		return err == nil
	}
	return watch{wait: wait, end: func() { _ = events.Close() }}, nil
}
