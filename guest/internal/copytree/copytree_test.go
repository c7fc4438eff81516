package copytree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

func TestSameKindFindsRunsOfEmptyBlocks(t *testing.T) {
	b := make([]byte, 5*blockBytes+10)
	b[2*blockBytes] = 1
	for _, want := range []struct {
		run  int
		hole bool
	}{{2 * blockBytes, true}, {blockBytes, false}, {2*blockBytes + 10, true}} {
		run, hole := sameKind(b)
		if run != want.run || hole != want.hole {
			t.Fatalf("%d %v, want %v", run, hole, want)
		}
		b = b[run:]
	}
}

func TestLinkDeepReachesPathsAboveTheLengthLimit(t *testing.T) {
	dir := t.TempDir()
	root, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	at, path := root, ""
	for range 60 {
		name := fmt.Sprintf("%0200d", 0)
		if err := unix.Mkdirat(at, name, 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if at != root {
			unix.Close(at)
		}
		at, path = next, path+name+"/"
	}
	defer unix.Close(at)
	fd, err := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if err := linkDeep(root, path+"file", root, "link", &st); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "link")); err != nil || info.Sys() == nil {
		t.Fatal(err)
	}
}

func TestSkipsTheDirectoryOfTheCopyItself(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tree", "stage"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tree", "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(path string) int {
		fd, err := unix.Open(filepath.Join(dir, path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	from, to := Place{open("."), "tree", "/tree"}, Place{open("tree/stage"), "copy", "/copy"}
	if err := Copy(ctx, from, to); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "tree", "stage", "copy"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "file" {
		t.Fatalf("%v %v", entries, err)
	}
}

// A directory tells of a mount point what is below it: a regular file, where a device is mounted.
func TestReportsADeviceThatIsMountedOnAFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts are made by root")
	}
	dir := t.TempDir()
	mounted := filepath.Join(dir, "tree", "device")
	if err := os.Mkdir(filepath.Dir(mounted), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mounted, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its mounts
		result <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
				return err
			}
			if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
				return err
			}
			if err := unix.Mount("/dev/null", mounted, "", unix.MS_BIND, ""); err != nil {
				return err
			}
			fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if err := Copy(context.Background(), Place{fd, "tree", "/tree"}, Place{fd, "copy", "/copy"}); fault.As(err).Code != fault.NotAFile {
				return fmt.Errorf("the copy ended with %v", err)
			}
			if exists(Place{fd, "copy", "/copy"}) {
				return errors.New("a part of the copy is left")
			}
			return nil
		}()
	}()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

// BenchmarkTree copies 20,000 small files, in turn with cp -a.
func BenchmarkTree(b *testing.B) {
	defer unix.Umask(unix.Umask(0))
	dir := b.TempDir()
	for i := range 20_000 {
		path := fmt.Sprintf("%s/tree/%d/%d", dir, i%200, i)
		if i < 200 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(path, make([]byte, 1+i%3000), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	for _, kind := range []string{"ours", "cp"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				if kind == "ours" {
					err = Copy(context.Background(), Place{fd, "tree", "/tree"}, Place{fd, "copy", "/copy"})
				} else {
					err = exec.Command("cp", "-a", dir+"/tree", dir+"/copy").Run()
				}
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := os.RemoveAll(dir + "/copy"); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
