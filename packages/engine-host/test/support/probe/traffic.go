package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const ioTimeout = 30 * time.Second

// traffic uses the network and says what came of it, one line for each step.
func traffic(step string, args []string) {
	switch step {
	case "lookup":
		resolver := net.Resolver{PreferGo: true}
		addresses, err := resolver.LookupIP(context.Background(), "ip4", args[0])
		fmt.Println(addresses, outcome(err))
	case "connect":
		connection, err := net.DialTimeout("tcp", args[0], ioTimeout)
		if err == nil {
			connection.Close()
		}
		fmt.Println(outcome(err))
	case "datagram":
		fmt.Println(outcome(datagram(args[0])))
	case "echo":
		fmt.Println(exchange(args[0], "hello", true))
	case "late":
		fmt.Println(late(args[0]))
	case "parallel":
		parallel(args[0], args[1])
	case "wait":
		wait(args[0])
	case "download":
		download(args[0])
	case "reconfigure":
		fmt.Println(outcome(reconfigure("tun0")))
	case "network":
		interfaces, _ := net.Interfaces()
		slices.SortFunc(interfaces, func(a, b net.Interface) int { return strings.Compare(a.Name, b.Name) })
		for _, each := range interfaces {
			fmt.Print(each.Name, " ")
		}
		text, _ := os.ReadFile("/etc/resolv.conf")
		fmt.Println(strings.ReplaceAll(string(text), "\n", ";"))
	}
}

// outcome names an error as programs know it.
func outcome(err error) string {
	names := map[syscall.Errno]string{
		syscall.ECONNREFUSED: "refused", syscall.ECONNRESET: "reset", syscall.EHOSTUNREACH: "unreachable",
		syscall.ENETUNREACH: "unreachable", syscall.EPERM: "not permitted",
	}
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno) && names[errno] != "":
		return names[errno]
	default:
		return err.Error()
	}
}

// reconfigure gives a device another address, as netdevice(7) says, for which a process needs CAP_NET_ADMIN.
func reconfigure(name string) error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	var request [40]byte
	copy(request[:], name)
	copy(request[16:], []byte{syscall.AF_INET, 0, 0, 0, 10, 0, 0, 1})
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFADDR, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return errno
	}
	return nil
}

func datagram(address string) error {
	connection, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(ioTimeout))
	if _, err = connection.Write([]byte("x")); err == nil {
		_, err = connection.Read(make([]byte, 1))
	}
	return err
}

// exchange sends a text, its end where asked, and reads the answer to its end.
func exchange(address, text string, ends bool) string {
	connection, err := net.DialTimeout("tcp", address, ioTimeout)
	if err != nil {
		return outcome(err)
	}
	defer connection.Close()
	io.WriteString(connection, text)
	if ends {
		connection.(*net.TCPConn).CloseWrite()
	}
	back, err := io.ReadAll(connection)
	return string(back) + " " + outcome(err)
}

// late reads the answer to its end and only then sends.
func late(address string) string {
	connection, err := net.DialTimeout("tcp", address, ioTimeout)
	if err != nil {
		return outcome(err)
	}
	defer connection.Close()
	back, err := io.ReadAll(connection)
	if err == nil {
		_, err = io.WriteString(connection, "more")
	}
	return string(back) + " " + outcome(err)
}

func parallel(address, count string) {
	n, _ := strconv.Atoi(count)
	var group sync.WaitGroup
	outcomes := make(chan string, n)
	for i := range n {
		group.Add(1)
		go func() {
			defer group.Done()
			text := strings.Repeat(fmt.Sprint(i, "-"), 2_000)
			got := exchange(address, text, true)
			if got == text+" ok" {
				got = "right"
			}
			outcomes <- got[max(0, len(got)-50):]
		}()
	}
	group.Wait()
	close(outcomes)
	counts := map[string]int{}
	for each := range outcomes {
		counts[each]++
	}
	fmt.Println(counts)
}

// wait says that it is connected, and then how the connection ended.
func wait(address string) {
	connection, err := net.DialTimeout("tcp", address, ioTimeout)
	fmt.Println(outcome(err))
	if err == nil {
		_, err = connection.Read(make([]byte, 1))
		fmt.Println(outcome(err))
	}
}

func download(address string) {
	connection, err := net.DialTimeout("tcp", address, ioTimeout)
	if err != nil {
		fmt.Println(outcome(err))
		return
	}
	started := time.Now()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{connection}, make([]byte, 256<<10))
	fmt.Printf("%d %s %.0f MiB/s\n", n, outcome(err), float64(n)/(1<<20)/time.Since(started).Seconds())
}
