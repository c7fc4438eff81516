package memwatch

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// serving is a server of requests and what it reports.
type serving struct {
	t       *testing.T
	in      *io.PipeWriter
	reports chan report
}

func serve(t *testing.T) *serving {
	t.Helper()
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	go func() {
		_ = out.CloseWithError(Serve(in, out))
	}()
	s := &serving{t: t, in: requests, reports: make(chan report, 64)}
	go func() {
		defer close(s.reports)
		for lines := bufio.NewScanner(answers); lines.Scan(); {
			var r report
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				s.reports <- r
			}
		}
	}()
	t.Cleanup(func() { _ = requests.Close() })
	return s
}

func (s *serving) watch(id, dir string) {
	s.t.Helper()
	if err := json.NewEncoder(s.in).Encode(request{ID: id, Dir: dir}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *serving) next() report {
	s.t.Helper()
	select {
	case r, open := <-s.reports:
		if !open {
			s.t.Fatal("it has ended")
		}
		return r
	case <-time.After(10 * time.Second):
		s.t.Fatal("nothing is reported")
		return report{}
	}
}

// overwrite changes a file once; to empty it first would be another change.
func overwrite(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("high 1\n")
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestReportsEachChangeOfAVersion2Cgroup(t *testing.T) {
	dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
	s := serve(t)
	for id, dir := range dirs {
		events := filepath.Join(dir, "memory.events")
		if err := os.WriteFile(events, []byte("high 0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.watch(id, dir)
		if got := s.next(); got != (report{ID: id}) {
			t.Fatal(got)
		}
		for range 3 {
			overwrite(t, events)
			if got := s.next(); got != (report{ID: id, Full: true}) {
				t.Fatal(got)
			}
		}
	}
	if err := os.RemoveAll(dirs["a"]); err != nil {
		t.Fatal(err)
	}
	s.watch("c", dirs["a"])
	for {
		if got := s.next(); got.ID == "c" {
			if got.Error == "" || got.Full {
				t.Fatal(got)
			}
			return
		}
	}
}
