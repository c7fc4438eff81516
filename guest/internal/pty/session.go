package pty

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// signalSession sends a signal, whose default action is to be ignored, to every process of a
// session.
func signalSession(session int, signal unix.Signal) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a partial list is as good as an outdated one
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && sessionOf(stat) == session {
			_ = unix.Kill(pid, signal) // ESRCH: the process has just ended
		}
	}
}

// sessionOf returns the session from /proc/PID/stat, or -1. The name in parentheses may contain
// anything, so fields are counted from the last parenthesis (proc_pid_stat(5)).
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
