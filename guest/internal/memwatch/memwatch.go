// Package memwatch tells the daemon when a runtime has reached its memory limit. The daemon cannot wait for that itself: cgroup
// version 1 tells it by an eventfd alone, which Node cannot make.
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

// request asks for a runtime to be watched until its cgroup is gone, or with GoOn for its processes to go on.
type request struct {
	ID   string `json:"id"`
	GoOn bool   `json:"go_on"`
	// Dir is the runtime's directory in the hierarchy that has the memory controller.
	Dir string `json:"dir"`
	// Thresholds are uses of memory, in bytes, of which each is told when it is crossed in either direction. Version 2 has none; it tells when
	// memory.high is exceeded.
	Thresholds []int64 `json:"thresholds"`
	// LimitBytes is what the runtime may use. With more than that its processes stand still until GoOn.
	LimitBytes int64 `json:"limit_bytes"`
	// Sandbox is set where the processes are gVisor's.
	Sandbox *sandbox `json:"sandbox"`
}

// report says that a runtime is watched, that it could not be (Error), or that it has crossed a threshold (Full). Full may be said when
// it is not true any more: the daemon checks.
type report struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	Full  bool   `json:"full"`
}

// niceness puts the program before what takes the memory: that may take a GiB in the time that another process has to wait for a processor.
const niceness = -10

// Main serves requests, a line of JSON each, until its stdin ends, which the daemon's end is too.
func Main() int {
	// All threads are meant, and those of one process are its group where it leads one. Without the privilege it is as late as the rest.
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, niceness)
	if err := Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "memwatch:", err)
		return 1
	}
	return 0
}

// Serve answers requests until there are no more. Then it lets go on what it has stopped.
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
		if r.GoOn {
			if known := watched[r.ID]; known != nil {
				known.askGoOn()
			}
			continue
		}
		forgetGone(watched)
		if known := watched[r.ID]; known != nil {
			known.askGoOn() // it is watched anew
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

// forgetGone ends to watch cgroups that are gone. Few versions of Linux tell of that themselves.
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
	_ = r.out.Encode(what) // a daemon that has gone also ends stdin
}

// watch receives the events of a cgroup.
type watch struct {
	wait func() bool // returns true when the limit may have been reached, false when nothing more is heard
	end  func()      // has wait return false
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
// (Documentation/admin-guide/cgroup-v1/memory.rst, sections 9 and 10). It is written to at each of these events, and when the cgroup is removed.
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
