package network

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// searchTime is the longest time that a connection waits for the search. The process is
	// reported only if it is found by then.
	searchTime = 25 * time.Millisecond
	// recentMax is the number of recent processes that are searched first, because they are likely
	// to connect again.
	recentMax = 8
	// Limits of a search: the bytes of the socket table, the processes, and the descriptors of
	// each.
	maxTableBytes, maxProcesses, maxDescriptors = 512 << 10, 256, 1024
)

// owners finds the process behind a socket in the kernel's tables (proc_net_tcp(5),
// proc_pid_fd(5)). A process that the guest may not inspect (another user's, in a container) is not
// found.
type owners struct {
	address netip.Addr
	busy    chan struct{}
	recent  []int // guarded by busy
}

func newOwners(address netip.Addr) *owners {
	return &owners{address: address, busy: make(chan struct{}, 1)}
}

// describe returns the process that has the socket with this local address, in the format of the
// host's header. It returns "" if the process is unknown.
func (o *owners) describe(protocol string, source netip.AddrPort) string {
	deadline := time.Now().Add(searchTime)
	wait := time.NewTimer(searchTime)
	defer wait.Stop()
	select {
	case o.busy <- struct{}{}:
		defer func() { <-o.busy }()
	case <-wait.C:
		return ""
	}
	inode, uid, ok := findSocket(protocol, source)
	if !ok {
		return ""
	}
	pid, ok := o.findProcess("socket:["+inode+"]", deadline)
	if !ok {
		return ""
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	text, err := json.Marshal(struct {
		Pid  int    `json:"pid"`
		Name string `json:"name"`
		UID  int    `json:"uid"`
	}{pid, strings.TrimSuffix(string(name), "\n"), uid})
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(text)
}

// isHeld returns true if a process has the TCP socket with this local address open, or if that is
// unknown.
func (o *owners) isHeld(source netip.AddrPort) bool {
	for _, table := range tablesOf("tcp", source) {
		file, err := os.Open(table.path)
		if err != nil {
			continue
		}
		limited := &io.LimitedReader{R: file, N: maxTableBytes}
		_, _, found := scanTable(limited, table.locals...)
		file.Close()
		if found || limited.N == 0 {
			return true
		}
	}
	return false
}

// findSocket finds an address in the tables of both families.
func findSocket(protocol string, source netip.AddrPort) (inode string, uid int, ok bool) {
	for _, table := range tablesOf(protocol, source) {
		file, err := os.Open(table.path)
		if err != nil {
			continue
		}
		inode, uid, ok = scanTable(io.LimitReader(file, maxTableBytes), table.locals...)
		file.Close()
		if ok {
			return inode, uid, true
		}
	}
	return "", 0, false
}

// table is one of the kernel's tables, with an address in its format.
type table struct {
	path   string
	locals []string
}

// tablesOf returns the tables of both families, because an IPv6 socket may have an IPv4 address.
func tablesOf(protocol string, source netip.AddrPort) []table {
	address := tableAddress(source)
	tables := []table{
		{"/proc/net/" + protocol, []string{address}},
		{"/proc/net/" + protocol + "6", []string{mapped + address}},
	}
	if protocol == "udp" { // before it is connected
		tables[0].locals = append(tables[0].locals, fmt.Sprintf("00000000:%04X", source.Port()))
		tables[1].locals = append(tables[1].locals, fmt.Sprintf("%032d:%04X", 0, source.Port()))
	}
	return tables
}

// scanTable finds the socket with one of these local addresses.
func scanTable(table io.Reader, locals ...string) (inode string, uid int, ok bool) {
	const localField, uidField, inodeField = 1, 7, 9
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) <= inodeField || !slices.Contains(locals, fields[localField]) || fields[inodeField] == "0" {
			continue
		}
		uid, err := strconv.Atoi(fields[uidField])
		return fields[inodeField], uid, err == nil
	}
	return "", 0, false
}

// findProcess finds the process that has the socket open. It searches recent processes first, and
// then the newest ones.
func (o *owners) findProcess(socket string, deadline time.Time) (int, bool) {
	for _, pid := range o.recent {
		if hasOpen(pid, socket) {
			return pid, true
		}
	}
	pids := processes()
	slices.SortFunc(pids, func(a, b int) int { return b - a })
	for _, pid := range pids[:min(len(pids), maxProcesses)] {
		if time.Now().After(deadline) {
			return 0, false
		}
		if pid == os.Getpid() || slices.Contains(o.recent, pid) || !hasOpen(pid, socket) {
			continue
		}
		o.recent = append([]int{pid}, o.recent[:min(len(o.recent), recentMax-1)]...)
		return pid, true
	}
	return 0, false
}

func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // the names read so far are usable
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func hasOpen(pid int, socket string) bool {
	path := fmt.Sprintf("/proc/%d/fd", pid)
	dir, err := os.Open(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxDescriptors) // as above
	for _, name := range names {
		if target, err := os.Readlink(path + "/" + name); err == nil && target == socket {
			return true
		}
	}
	return false
}
