package test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSudoOutlivesHostileCallers(t *testing.T) {
	g := startWithSudo(t)
	if r := g.exec(g.as("able", "sudo id -u")); r.stdout != "0\n" {
		t.Fatalf("%+v", r)
	}
	count := func() string { return g.exec(object{"command": "ls /proc/1/fd | wc -l"}).stdout }
	count()
	before := count()
	for _, way := range []string{"garbage", "no-descriptors", "many-descriptors", "vanish", "short", "huge", "signals", "flood"} {
		if r := g.exec(object{"argv": []string{os.Args[0], "hostile", way}}); r.code() != 0.0 {
			t.Errorf("%s: %+v", way, r)
		}
		eventually(t, "sudo works after "+way, func() bool { return g.exec(g.as("able", "sudo id -u")).stdout == "0\n" })
	}
	eventually(t, "no descriptor is left", func() bool { return count() == before })
	if kib := g.residentKiB(); kib > 64<<10 {
		t.Errorf("%d KiB", kib)
	}
	g.want(200, "GET", "/v1/info", nil)
}

// hostile is a caller that keeps to no protocol. It runs inside, in a process of its own.
func hostile(way string) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	dial := func() *net.UnixConn {
		conn, err := net.Dial("unix", "@holt/sudo")
		check(err)
		return conn.(*net.UnixConn)
	}
	// Answers are read to the end, so that the server has seen what was sent.
	finish := func(conn *net.UnixConn) {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		for b := make([]byte, 100); ; {
			if _, err := conn.Read(b); err != nil {
				break
			}
		}
		_ = conn.Close()
	}
	send := func(conn *net.UnixConn, b []byte, fds ...int) {
		_, _, err := conn.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
		check(err)
	}
	switch way {
	case "squat":
		l, err := net.Listen("unix", "@holt/sudo")
		check(err)
		for {
			conn, err := l.Accept()
			check(err)
			_, _ = conn.Write([]byte("H\x00\x00\x00\x00"))
		}
	case "garbage":
		for i := range 50 {
			conn := dial()
			body := []byte(strings.Repeat(string(rune(i)), 100))
			send(conn, append([]byte{0, 0, 0, byte(len(body))}, body...), 0, 1, 2)
			finish(conn)
		}
	case "no-descriptors":
		conn := dial()
		_, err := conn.Write([]byte("\x00\x00\x00\x01x"))
		check(err)
		finish(conn)
	case "many-descriptors":
		for _, n := range []int{1, 2, 4, 5, 100} {
			conn := dial()
			send(conn, []byte("\x00\x00\x00\x01x"), make([]int, n)...)
			finish(conn)
		}
	case "vanish":
		for range 100 {
			conn := dial()
			send(conn, []byte("\x00\x00\x10\x00x"), 0, 1, 2)
			_ = conn.Close()
		}
	case "short":
		conn := dial()
		send(conn, []byte("\x00"), 0, 1, 2)
		finish(conn)
	case "huge":
		conn := dial()
		send(conn, []byte("\xff\xff\xff\xff"), 0, 1, 2)
		finish(conn)
	case "signals":
		conn := dial()
		// argv ["sudo", "true"], env [], dir "/" of another inode: refused, whatever signals follow.
		send(conn, append([]byte{0, 0, 0, 17}, "\x02\x04sudo\x04true\x00\x01/\x00\x00\x00\x09\x09\x09"...), 0, 1, 2)
		finish(conn)
	case "flood":
		var held []*net.UnixConn
		for range 300 {
			held = append(held, dial())
		}
		last := held[len(held)-1]
		b := make([]byte, 5)
		_, err := last.Read(b)
		check(err)
		if b[0] != 'R' {
			panic(fmt.Sprintf("the 300th caller is answered %q", b))
		}
		for _, conn := range held {
			_ = conn.Close()
		}
	}
}
