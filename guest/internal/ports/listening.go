// Package ports finds and connects to the TCP ports of the runtime's programs.
package ports

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"holt.dev/guest/internal/fault"
)

// Pauses between two checks for a listener. They are short at first, for programs that start
// quickly, and longer for programs that take minutes.
const (
	firstDelay = 5 * time.Millisecond
	lastDelay  = 250 * time.Millisecond
)

// maxTableBytes limits the part of the kernel's table of connections that is read.
const maxTableBytes = 16 << 20

// listenState is TCP_LISTEN in the format of the table.
const listenState = "0A"

// Parse parses a port: 1 to 65535 in decimal digits, without a sign or leading zeros.
func Parse(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != text {
		return 0, fault.New(fault.InvalidRequest, "port must be 1 to 65535")
	}
	return uint16(port), nil
}

// Listening returns the ports that accept connections over loopback, in order. It reads the
// kernel's tables and connects to no port.
func Listening() ([]uint16, error) {
	var found []uint16
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if errors.Is(err, fs.ErrNotExist) { // a kernel without that IP version
			continue
		}
		if err != nil {
			return nil, err
		}
		ports, err := readTable(file)
		_ = file.Close() // was only read
		if err != nil {
			return nil, err
		}
		found = append(found, ports...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Wait waits until a program listens on a port, and returns true. It returns false after the time
// limit or at the end of the context.
func Wait(ctx context.Context, port uint16, limit time.Duration) (bool, error) {
	deadline := time.Now().Add(limit)
	for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
		ports, err := Listening()
		if err != nil {
			return false, err
		}
		if slices.Contains(ports, port) {
			return true, nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		select {
		case <-time.After(min(delay, left)):
		case <-ctx.Done():
			return false, nil
		}
	}
}

// readTable reads the listening ports of a table in the format of proc_net_tcp (proc_pid_net(5)).
func readTable(table io.Reader) ([]uint16, error) {
	var ports []uint16
	lines := bufio.NewScanner(io.LimitReader(table, maxTableBytes))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != listenState {
			continue
		}
		if port, ok := reachable(fields[1]); ok {
			ports = append(ports, port)
		}
	}
	return ports, lines.Err()
}

// reachable returns the port of a local address, and true if a connection to loopback reaches it.
func reachable(local string) (uint16, bool) {
	address, number, ok := strings.Cut(local, ":")
	if !ok {
		return 0, false
	}
	port, err := strconv.ParseUint(number, 16, 16)
	if err != nil || port == 0 {
		return 0, false
	}
	words, err := hex.DecodeString(address)
	if err != nil || len(words)%4 != 0 {
		return 0, false
	}
	// Each 32-bit word is printed in the host's byte order, which is little-endian on all supported
	// machines.
	for i := 0; i+4 <= len(words); i += 4 {
		slices.Reverse(words[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(words)
	if !ok {
		return 0, false
	}
	ip = ip.Unmap()
	return uint16(port), ip.IsUnspecified() || slices.Contains(loopback, ip)
}
