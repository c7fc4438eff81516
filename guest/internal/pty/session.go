package pty

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// signalSession sends a signal that is ignored unless asked for to every process of a session.
func signalSession(session int, signal unix.Signal) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a partial list is worth as much as one from a moment ago
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && sessionOf(stat) == session {
			_ = unix.Kill(pid, signal) // ESRCH: it has just ended
		}
	}
}

// sessionOf finds the session in /proc/PID/stat, -1 where there is none. The name in parentheses
// may hold anything, so fields count from its last parenthesis (proc_pid_stat(5)).
func sessionOf(stat []byte) int {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return -1
	}
	session, err := strconv.Atoi(string(fields[3]))
	if err != nil {
		return -1
	}
	return session
}
