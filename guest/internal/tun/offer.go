package tun

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// offer holds the arguments of "holt-guest tun". It runs on the host, never in a runtime.
type offer struct {
	socket     string
	pid        int
	startTicks uint64
	device     Device
	timeout    time.Duration
}

// createTimeout limits the wait for the removal of an older device with the same name, which the
// guest has just closed.
const createTimeout = 2 * time.Second

// Main enters the network namespace of a process, listens on a Unix socket, and prints "ready". It
// makes a tun device for the first client, sends the descriptor, and ends. It does not make the
// device earlier, because a guest that gets another network has the old device until it connects.
// The caller must lock its thread, which moves into the namespace.
func Main(args []string) int {
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := enter(o.pid, o.startTicks); err != nil {
		return err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: o.socket, Net: "unix"})
	if err != nil {
		return err
	}
	defer listener.Close() // also removes the socket's file
	if err := listener.SetDeadline(time.Now().Add(o.timeout)); err != nil {
		return err
	}
	fmt.Println("ready")
	conn, err := listener.AcceptUnix()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil // no client has connected in time
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	fd, err := createWhenFree(o.device)
	if err != nil {
		_, _ = conn.Write([]byte(err.Error())) // the exit code reports it, too
		return err
	}
	defer unix.Close(fd)
	_, _, err = conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fd), nil)
	return err
}

func createWhenFree(device Device) (fd int, err error) {
	for deadline := time.Now().Add(createTimeout); ; time.Sleep(5 * time.Millisecond) {
		fd, err = Create(device)
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return fd, err
		}
	}
}

func parse(args []string) (*offer, error) {
	o := &offer{}
	flags := flag.NewFlagSet("holt-guest tun", flag.ContinueOnError)
	address := ""
	timeoutMs := 0
	flags.StringVar(&o.socket, "socket", "", "the Unix socket at which the descriptor is fetched")
	flags.IntVar(&o.pid, "pid", 0, "a process in the network namespace")
	flags.Uint64Var(&o.startTicks, "start-ticks", 0, "when that process started: field 22 of its stat")
	flags.StringVar(&o.device.Name, "name", "tun0", "the device's name")
	flags.StringVar(&address, "address", "", "the device's own IPv4 address")
	flags.IntVar(&o.device.MTU, "mtu", 65_000, "the device's MTU")
	flags.IntVar(&timeoutMs, "timeout-ms", 0, "how long to wait for somebody to fetch it")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 || o.socket == "" || o.pid <= 0 || timeoutMs <= 0 {
		return nil, errors.New("usage: holt-guest tun --socket=PATH --pid=N --start-ticks=N --address=A --timeout-ms=N [--name=N] [--mtu=N]")
	}
	var err error
	if o.device.Address, err = netip.ParseAddr(address); err != nil {
		return nil, err
	}
	o.timeout = time.Duration(timeoutMs) * time.Millisecond
	return o, o.device.Check()
}

// enter moves the calling thread into the network namespace of this process. It verifies the start
// time, because the pid may belong to another process by now.
func enter(pid int, startTicks uint64) error {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer namespace.Close()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	if ticks, err := startOf(string(stat)); err != nil || ticks != startTicks {
		return fmt.Errorf("process %d is now another process", pid)
	}
	if isOwn(namespace) {
		return fmt.Errorf("process %d has the network of the host", pid)
	}
	return unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
}

// startOf parses field 22 of proc_pid_stat(5). The name before it, in parentheses, may contain
// anything.
func startOf(stat string) (uint64, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, errors.New("not a line of stat")
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

func isOwn(namespace *os.File) bool {
	own, err := os.Stat("/proc/self/ns/net")
	if err != nil {
		return true
	}
	other, err := namespace.Stat()
	return err != nil || os.SameFile(own, other)
}
