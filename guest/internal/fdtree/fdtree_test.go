package fdtree

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenDirOpensADirectoryAndNeverFollowsALink(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "real"), 0o755),
		os.Symlink("real", filepath.Join(dir, "link")),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o644),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	at, err := OpenDirFollow(unix.AT_FDCWD, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	fd, err := OpenDir(at, "real")
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	for name, want := range map[string]error{"link": unix.ENOTDIR, "file": unix.ENOTDIR, "fifo": unix.ENOTDIR, "none": unix.ENOENT} {
		if _, err := OpenDir(at, name); err != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// Most runtimes have gVisor's kernel, which treats symlinks in another way (release 20260701).
func TestTheSameHoldsInGVisor(t *testing.T) {
	// npm test names the built one.
	name := os.Getenv("HOLT_RUNSC")
	if name == "" {
		name = "runsc"
	}
	runsc, err := exec.LookPath(name)
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs runsc and root")
	}
	state := t.TempDir()
	out, err := exec.Command(runsc, "--root", state, "--network=none", "--ignore-cgroups", "do", os.Args[0], "-test.run=^TestOpenDir").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
