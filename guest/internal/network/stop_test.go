package network

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"holt.dev/guest/internal/egress"
	"holt.dev/guest/internal/tun"
)

// ownNetwork is set in a process that has a network namespace of its own.
const ownNetwork = "HOLT_TEST_OWN_NETWORK"

// patience limits the wait for the end of a connection, which needs no time at all.
const patience = 60 * time.Second

// inOwnNetwork runs the calling test again, in a process with its own network namespace. It returns
// true in that process. /proc/net is of a process, so a thread with another namespace does not do.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownNetwork) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=300s")
	again.Env = append(os.Environ(), ownNetwork+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	if output, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return false
}

// serveHost answers each connection of the guest as a host that sends nothing.
func serveHost(t *testing.T) (path string) {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(io.Discard, r.Body)
	})
}

// serveSilence is a host that answers nothing. asked tells that it was asked.
func serveSilence(t *testing.T) (path string, asked <-chan struct{}) {
	questions := make(chan struct{}, 1)
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		questions <- struct{}{}
		<-r.Context().Done()
	}), questions
}

func serve(t *testing.T, handle http.HandlerFunc) (path string) {
	path = filepath.Join(t.TempDir(), "egress.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: &protocols, Handler: handle}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return path
}

var device = tun.Device{Name: "tun0", Address: netip.MustParseAddr("198.18.0.2"), MTU: 65_000}

// target is an address that the host connects to.
const target = "203.0.113.9:7"

// startNetwork makes the device, and handles its packets. between gets its descriptor first.
func startNetwork(t *testing.T, host string, between func(fd int) int) *running {
	t.Helper()
	fd, err := tun.Create(device)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(between(fd), device, egress.New(host))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func direct(fd int) int { return fd }

// losing returns a function that puts a wire between a device and the network. It loses the first
// resets, as the kernel loses packets that it has not handled when a device is removed.
func losing(t *testing.T, resets int) func(fd int) int {
	return func(fd int) int {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		kernel, wire := os.NewFile(uintptr(fd), "tun"), os.NewFile(uintptr(pair[0]), "wire")
		copyPackets := func(to, from *os.File, loses func(packet header.IPv4) bool) {
			defer kernel.Close()
			defer wire.Close()
			packet := make([]byte, readBytes)
			for {
				n, err := from.Read(packet)
				if err != nil || n == 0 {
					return
				}
				if !loses(header.IPv4(packet[:n])) {
					_, _ = to.Write(packet[:n])
				}
			}
		}
		go copyPackets(wire, kernel, func(header.IPv4) bool { return false })
		go copyPackets(kernel, wire, func(packet header.IPv4) bool {
			isReset := packet.TransportProtocol() == header.TCPProtocolNumber &&
				header.TCP(packet.Payload()).Flags().Contains(header.TCPFlagRst)
			if isReset {
				resets--
			}
			return isReset && resets >= 0
		})
		return pair[1]
	}
}

// connectTo opens a connection of a program.
func connectTo(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", target, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// mustBeReset checks that a connection has ended.
func mustBeReset(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v", err)
	}
}

func TestConnectionsEndWithTheDevice(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	host := serveHost(t)
	// The kernel loses a reset now and then if the machine is busy.
	for range 50 {
		r := startNetwork(t, host, direct)
		conns := []net.Conn{connectTo(t), connectTo(t)}
		r.stop()
		for _, conn := range conns {
			mustBeReset(t, conn)
		}
	}
}

func TestConnectionsEndAlthoughResetsAreLost(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	r := startNetwork(t, serveHost(t), losing(t, 3))
	conns := []net.Conn{connectTo(t), connectTo(t), connectTo(t)}
	r.stop()
	for _, conn := range conns {
		mustBeReset(t, conn)
	}
}

func TestConnectionsThatTheHostHasNotAnsweredAreRefused(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	path, asked := serveSilence(t)
	r := startNetwork(t, path, direct)
	ended := make(chan error)
	go func() {
		_, err := net.DialTimeout("tcp", target, patience)
		ended <- err
	}()
	<-asked
	r.stop()
	if err := <-ended; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
}

func TestReadsTheTableOfConnections(t *testing.T) {
	for _, text := range []string{"020012C6:1F90", "0000000000000000FFFF0000020012C6:1F90"} {
		if got := parseTableAddress(text); got != netip.MustParseAddrPort("198.18.0.2:8080") {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := tableAddress(netip.MustParseAddrPort("198.18.0.2:8080")); got != "020012C6:1F90" {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"", "020012C6", "20012C6:1F90", "B80D0120000000000000000001000000:0016"} {
		if got := parseTableAddress(text); got.IsValid() {
			t.Errorf("%s: %v", text, got)
		}
	}
}
