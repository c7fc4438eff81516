// Package test runs the real guest as the first process of namespaces of its own, with the tests as
// its host.
package test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var guestBinary string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "set-up" {
		fmt.Fprintln(os.Stderr, setUp(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == "traffic" {
		traffic(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "narrow" {
		narrow()
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Geteuid() != 0 {
		fmt.Println("skipped: namespaces need root")
		return 0
	}
	dir, err := os.MkdirTemp("", "holt-guest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // commands of other users run it
		panic(err)
	}
	guestBinary = filepath.Join(dir, "holt-guest")
	build := exec.Command("go", "build", "-o", guestBinary, "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

// setUp becomes the guest. Before that it makes a private /etc, /usr and /var/lib, a fresh /proc
// and /run, and a small file system.
func setUp(binary, dir string) error {
	steps := []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"overlay", "/etc", "overlay", 0, "lowerdir=/etc,upperdir=" + dir + "/etc-upper,workdir=" + dir + "/etc-work"},
		{"overlay", "/usr", "overlay", 0, "lowerdir=/usr,upperdir=" + dir + "/usr-upper,workdir=" + dir + "/usr-work"},
		{"overlay", "/var/lib", "overlay", 0, "lowerdir=/var/lib,upperdir=" + dir + "/lib-upper,workdir=" + dir + "/lib-work"},
		{"proc", "/proc", "proc", 0, ""},
		{"tmpfs", "/run", "tmpfs", 0, ""},
		{"tmpfs", dir + "/small", "tmpfs", 0, "size=4m"},
	}
	if err := ownDev(dir + "/dev"); err != nil {
		return err
	}
	for _, s := range steps {
		if err := unix.Mount(s.source, s.target, s.kind, s.flags, s.data); err != nil {
			return fmt.Errorf("mount %s: %w", s.target, err)
		}
	}
	// An earlier guest, which was killed, left this.
	if err := errors.Join(os.Mkdir("/run/.holt-stage", 0o700), os.WriteFile("/run/.holt-stage/.holt-put-left", nil, 0o600)); err != nil {
		return err
	}
	return unix.Exec(binary, []string{"holt-guest"}, []string{"HOLT_GUEST_SOCKET=" + dir + "/control.sock"})
}

// ownDev covers /dev with a tmpfs that has the same entries, as the guest writes there.
func ownDev(place string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount /: %w", err)
	}
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(place, 0o755), unix.Mount("tmpfs", place, "tmpfs", 0, "mode=0755")); err != nil {
		return fmt.Errorf("mount %s: %w", place, err)
	}
	for _, entry := range entries {
		from, to := filepath.Join("/dev", entry.Name()), filepath.Join(place, entry.Name())
		switch {
		case entry.Name() == "ptmx": // it opens only beside its file system (devpts)
			err = os.Symlink("pts/ptmx", to)
		case entry.Type()&os.ModeSymlink != 0:
			target, _ := os.Readlink(from)
			err = os.Symlink(target, to)
		case entry.IsDir():
			err = errors.Join(os.Mkdir(to, 0o755), unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""))
		default:
			err = errors.Join(os.WriteFile(to, nil, 0o600), unix.Mount(from, to, "", unix.MS_BIND, ""))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	return unix.Mount(place, "/dev", "", unix.MS_MOVE, "")
}

// guest is a running guest and the host's end of its connection.
type guest struct {
	t      testing.TB
	dir    string // for the test's files; small/ in it holds 4 MiB
	client *http.Client
	pid    int // in the host's eyes
	conns  chan net.Conn
	listen net.Listener
	dialed atomic.Int64 // connections that the guest has made
}

// boot starts a guest that is not bound yet.
func boot(t testing.TB) *guest {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"etc-upper", "etc-work", "usr-upper", "usr-work", "lib-upper", "lib-work", "small"} {
		must(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	g := &guest{t: t, dir: dir, conns: make(chan net.Conn, 1)}
	g.open()
	cmd := exec.Command(os.Args[0], "set-up", guestBinary, dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWNET,
		Pdeathsig:  unix.SIGKILL,
	}
	must(t, cmd.Start())
	g.pid = cmd.Process.Pid
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:          &protocols,
		DisableCompression: true,
		HTTP2:              &http.HTTP2Config{MaxReadFrameSize: 1 << 20, MaxReceiveBufferPerStream: 4<<20 - 1, MaxReceiveBufferPerConnection: 4<<20 - 1},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case c := <-g.conns:
				return c, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
	g.client = &http.Client{Transport: transport, Timeout: 60 * time.Second}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		g.listen.Close()
		transport.CloseIdleConnections()
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("guest: %s", stderr.String())
		}
	})
	return g
}

// open listens for the guest, as a host does that is there.
func (g *guest) open() {
	g.t.Helper()
	l, err := net.Listen("unix", filepath.Join(g.dir, "control.sock"))
	must(g.t, err)
	g.listen = l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.dialed.Add(1)
			g.conns <- c
		}
	}()
}

// quiesce has the guest close its connection, as before a checkpoint, and returns when it has
// dialled again.
func (g *guest) quiesce(query string) {
	g.t.Helper()
	before := g.dialed.Load()
	g.want(200, "POST", "/v1/quiesce"+query, nil)
	eventually(g.t, "it dials again", func() bool { return g.dialed.Load() > before })
	eventually(g.t, "the host's client notices", func() bool {
		response, err := g.client.Get("http://guest/v1/info")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
}

const defaultBind = `{"runtime_id":"rt1","hostname":"box","machine_id":"0123456789abcdef0123456789abcdef","env":{"BOUND":"yes"},
	"user":"root","workdir":"/","time_unix_ms":1,"entropy":"c2VlZA==","pids_max":null,"set_clock":false,"set_hostname":true}`

// start boots a guest and binds it.
func start(t testing.TB) *guest {
	t.Helper()
	g := boot(t)
	g.want(200, "POST", "/v1/bind", defaultBind)
	return g
}

type object = map[string]any

// call sends a request. The body is a string, bytes, a reader, or a value that becomes JSON.
func (g *guest) call(method, path string, body any) (int, http.Header, []byte) {
	g.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case []byte:
		reader = bytes.NewReader(b)
	case io.Reader:
		reader = b
	default:
		text, err := json.Marshal(b)
		must(g.t, err)
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, "http://guest"+path, reader)
	must(g.t, err)
	response, err := g.client.Do(request)
	must(g.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(g.t, err)
	return response.StatusCode, response.Header, answer
}

// want sends a request whose status has to be this one, and answers the parsed body.
func (g *guest) want(status int, method, path string, body any) object {
	g.t.Helper()
	got, _, answer := g.call(method, path, body)
	if got != status {
		g.t.Fatalf("%s %s: %d, want %d: %s", method, path, got, status, answer)
	}
	var parsed object
	if len(answer) > 0 {
		must(g.t, json.Unmarshal(answer, &parsed))
	}
	return parsed
}

// refuses sends a request that has to fail with this code; the message has to hold a text.
func (g *guest) refuses(status int, code, holds, method, path string, body any) {
	g.t.Helper()
	e, _ := g.want(status, method, path, body)["error"].(object)
	if e["code"] != code {
		g.t.Fatalf("%s %s: code %v, want %s: %v", method, path, e["code"], code, e["message"])
	}
	if !strings.Contains(fmt.Sprint(e["message"]), holds) {
		g.t.Fatalf("%s %s: message %q does not hold %q", method, path, e["message"], holds)
	}
}

// refusal sends a request that is refused and returns the error.
func (g *guest) refusal(status int, method, path string, body any) object {
	g.t.Helper()
	return g.want(status, method, path, body)["error"].(object)
}

func query(path string) string { return "path=" + url.QueryEscape(path) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something that has to come true; what takes so long is broken.
func eventually(t testing.TB, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if check() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
