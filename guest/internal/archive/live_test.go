package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"holt.dev/guest/internal/fault"
)

// shortening is a writer that makes a file shorter as soon as some of it has been written.
type shortening struct {
	bytes.Buffer
	path string
	to   int64
}

func (s *shortening) Write(b []byte) (int, error) {
	if s.Len() > 2*bufferBytes {
		if err := os.Truncate(s.path, s.to); err != nil {
			return 0, err
		}
	}
	return s.Buffer.Write(b)
}

func TestAFileThatShrinksDuringARead(t *testing.T) {
	const size = 8 * bufferBytes
	pack := func(rules *Rules) (*shortening, error) {
		dir := t.TempDir()
		path := dir + "/log"
		must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o644))
		must(t, os.WriteFile(dir+"/next", []byte("whole"), 0o644))
		w := &shortening{path: path, to: bufferBytes}
		return w, PackBy(context.Background(), open(t, dir), dir, rules, w)
	}
	var problem *fault.Fault
	if _, err := pack(&Rules{}); !errors.As(err, &problem) || problem.Code != fault.Conflict {
		t.Fatalf("an archive went on though a file got shorter: %v", err)
	}
	w, err := pack(&Rules{Live: true})
	must(t, err)
	found := map[string][]byte{}
	for r := tar.NewReader(w); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		found[h.Name], err = io.ReadAll(r)
		must(t, err)
	}
	log := found["log"]
	if len(log) != size || log[0] != 'x' || log[size-1] != 0 || string(found["next"]) != "whole" {
		t.Fatalf("the archive has %d bytes of the file, and of the next one %q", len(log), found["next"])
	}
}
