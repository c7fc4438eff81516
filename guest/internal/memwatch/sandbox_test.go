package memwatch

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// signal is what a sandbox was told to deliver.
type signal struct {
	Signo int
	Mode  int
}

// sandboxThat answers all signals but those of which drops is true: of them it hangs up.
func sandboxThat(t *testing.T, drops func(nth int) bool) (socket string, told <-chan signal) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	channel := make(chan signal, 64)
	go func() {
		nth := 0
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			for calls := json.NewDecoder(conn); ; {
				var call struct{ Arg signal }
				if calls.Decode(&call) != nil {
					break
				}
				channel <- call.Arg
				nth++
				if drops(nth) {
					break
				}
				_, _ = io.WriteString(conn, `{"success":true,"err":"","result":{}}`)
			}
			_ = conn.Close()
		}
	}()
	return socket, channel
}

func cgroupWith(t *testing.T, current string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"memory.events": "high 0\n", "memory.current": current, "memory.stat": "anon 1\ninactive_file 600\nactive_file 100\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *serving) ask(r request) {
	s.t.Helper()
	if err := json.NewEncoder(s.in).Encode(r); err != nil {
		s.t.Fatal(err)
	}
}

func collect(told <-chan signal, n int) (all []signal) {
	for range n {
		select {
		case s := <-told:
			all = append(all, s)
		case <-time.After(10 * time.Second):
			return all
		}
	}
	return all
}

func TestStopsASandboxAboveItsLimitAndRetriesAnUnansweredContinue(t *testing.T) {
	socket, told := sandboxThat(t, func(nth int) bool { return nth == 3 })
	dir := cgroupWith(t, "2000")
	s := serve(t)
	s.ask(request{ID: "a", Dir: dir, LimitBytes: 1000, Sandbox: &sandbox{Socket: socket, Container: "a"}})
	s.next()
	overwrite(t, filepath.Join(dir, "memory.events"))
	if got := s.next(); got != (report{ID: "a", Full: true}) {
		t.Fatal(got)
	}
	s.ask(request{ID: "a", Continue: true})
	stop, first, all := signal{int(unix.SIGSTOP), toAll}, signal{int(unix.SIGCONT), toInit}, signal{int(unix.SIGCONT), toAll}
	if got := collect(told, 4); !slices.Equal(got, []signal{stop, first, all, all}) {
		t.Fatal(got)
	}
}

func TestIgnoresTheFileCacheOfASandbox(t *testing.T) {
	socket, told := sandboxThat(t, func(int) bool { return false })
	dir := cgroupWith(t, "1600")
	s := serve(t)
	s.ask(request{ID: "a", Dir: dir, LimitBytes: 1000, Sandbox: &sandbox{Socket: socket, Container: "a"}})
	s.next()
	overwrite(t, filepath.Join(dir, "memory.events"))
	select {
	case got := <-s.reports:
		t.Fatal(got)
	case got := <-told:
		t.Fatal(got)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestContinuesStoppedSandboxesWhenItEnds(t *testing.T) {
	socket, told := sandboxThat(t, func(int) bool { return false })
	dir := cgroupWith(t, "2000")
	s := serve(t)
	s.ask(request{ID: "a", Dir: dir, LimitBytes: 1000, Sandbox: &sandbox{Socket: socket, Container: "a"}})
	s.next()
	overwrite(t, filepath.Join(dir, "memory.events"))
	s.next()
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	if got := collect(told, 3); len(got) != 3 || got[2] != (signal{int(unix.SIGCONT), toAll}) {
		t.Fatal(got)
	}
}

func TestForgetsRemovedCgroups(t *testing.T) {
	all, err := newChanges()
	if err != nil {
		t.Fatal(err)
	}
	dir := cgroupWith(t, "0")
	w, err := beginV2(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(request{ID: "a", Dir: dir}, w, &reporter{out: json.NewEncoder(io.Discard)})
	watched := map[string]*runtime{"a": r}
	forgetGone(watched)
	if len(watched) != 1 {
		t.Fatal(watched)
	}
	ended := make(chan struct{})
	go func() {
		r.hear()
		close(ended)
	}()
	// A later cgroup of the same name is another one.
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	forgetGone(watched)
	if len(watched) != 0 {
		t.Fatal(watched)
	}
	<-ended
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.told) != 0 {
		t.Fatal(all.told)
	}
}
