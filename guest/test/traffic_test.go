package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// traffic is a program inside that uses the network. Its output has the results, and the reason of
// a step that fails.
func traffic(step string, args []string) {
	switch step {
	case "lookup":
		fmt.Println(lookup("udp", args[0]))
	case "lookup-tcp":
		fmt.Println(lookup("tcp", args[0]))
	case "connect":
		conn, err := dialFor(args[0])
		if err == nil {
			conn.Close()
		}
		fmt.Println(outcomeOf(err))
	case "echo":
		fmt.Println(echo(args[0], "hello"))
	case "half-close":
		fmt.Println(sendAndCount(args[0], args[1]))
	case "read":
		conn, err := dialFor(args[0])
		if err == nil {
			_, err = conn.Write([]byte("x"))
		}
		if err == nil {
			_, err = io.Copy(io.Discard, conn)
		}
		fmt.Println(outcomeOf(err))
	case "reset":
		conn, err := dialFor(args[0])
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			err = conn.Close()
		}
		fmt.Println(outcomeOf(err))
	case "hold":
		fmt.Println(hold(args[0], args[1]))
	case "parallel":
		fmt.Println(parallel(args[0], args[1]))
	case "datagram":
		conn, err := net.Dial("udp", args[0])
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			_, err = conn.Write([]byte("x"))
		}
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		fmt.Println(outcomeOf(err))
	case "ping":
		fmt.Println(ping(args[0]))
	case "download":
		fmt.Println(download(args[0]))
	case "fill":
		fmt.Println(fill(args[0]))
	default:
		fmt.Println("no such step")
	}
}

func dialFor(address string) (net.Conn, error) {
	return net.DialTimeout("tcp", address, 30*time.Second)
}

// outcomeOf names an error as programs know it.
func outcomeOf(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return map[syscall.Errno]string{
			syscall.ECONNREFUSED: "refused", syscall.ECONNRESET: "reset", syscall.EHOSTUNREACH: "unreachable", syscall.ENETUNREACH: "no network",
		}[errno] + " " + errno.Error()
	default:
		return err.Error()
	}
}

func lookup(network, name string) string {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, address)
	}}
	addresses, err := resolver.LookupIP(context.Background(), "ip4", name)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(len(addresses), " ", addresses[0])
}

func echo(address, text string) string {
	conn, err := dialFor(address)
	if err != nil {
		return outcomeOf(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return outcomeOf(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	back, err := io.ReadAll(conn)
	return string(back) + " " + outcomeOf(err)
}

func sendAndCount(address, count string) string {
	n, _ := strconv.Atoi(count)
	conn, err := dialFor(address)
	if err != nil {
		return outcomeOf(err)
	}
	defer conn.Close()
	if _, err := io.Copy(conn, io.LimitReader(endless{}, int64(n))); err != nil {
		return "sending: " + outcomeOf(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	back, err := io.ReadAll(conn)
	return string(back) + " " + outcomeOf(err)
}

// hold opens connections, says how many there are, and waits for a line on its input.
func hold(address, count string) string {
	n, _ := strconv.Atoi(count)
	outcomes := map[string]int{}
	var conns []net.Conn
	for range n {
		conn, err := dialFor(address)
		outcomes[outcomeOf(err)]++
		if err == nil {
			conns = append(conns, conn)
		}
	}
	fmt.Println(outcomes)
	_, _ = os.Stdin.Read(make([]byte, 1))
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, err := conn.Read(make([]byte, 1))
		conn.Close()
		outcomes["then "+outcomeOf(err)]++
	}
	return fmt.Sprint(outcomes)
}

func parallel(address, count string) string {
	n, _ := strconv.Atoi(count)
	var wait sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			text := strings.Repeat(fmt.Sprint(i, "-"), 5000)
			outcome := "right"
			if got := echo(address, text); got != text+" ok" {
				outcome = got[max(0, len(got)-100):]
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[outcome]++
		}()
	}
	wait.Wait()
	return fmt.Sprint(outcomes)
}

func ping(address string) string {
	conn, err := net.Dial("ip4:icmp", address)
	if err != nil {
		return outcomeOf(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	listener, err := net.ListenPacket("ip4:icmp", "0.0.0.0")
	if err != nil {
		return outcomeOf(err)
	}
	defer listener.Close()
	_ = listener.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write([]byte{8, 0, 0xf7, 0xfe, 0, 1, 0, 0}); err != nil {
		return outcomeOf(err)
	}
	answer := make([]byte, 200)
	n, _, err := listener.ReadFrom(answer)
	if err != nil {
		return outcomeOf(err)
	}
	return fmt.Sprintf("type %d code %d of %d bytes", answer[0], answer[1], n)
}

func download(address string) string {
	conn, err := dialFor(address)
	if err != nil {
		return outcomeOf(err)
	}
	defer conn.Close()
	started := time.Now()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn}, make([]byte, 256<<10))
	return fmt.Sprintf("%d %s %.0f MiB/s", n, outcomeOf(err), float64(n)/(1<<20)/time.Since(started).Seconds())
}

// fill writes to a connection that nobody reads from until it takes no more, and says how much it
// took.
func fill(address string) string {
	conn, err := dialFor(address)
	if err != nil {
		return outcomeOf(err)
	}
	defer conn.Close()
	total := 0
	for chunk := make([]byte, 64<<10); ; {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := conn.Write(chunk)
		total += n
		if err != nil {
			break
		}
	}
	if total > 16<<20 {
		return fmt.Sprint("took ", total)
	}
	return "holds back"
}
