package files

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inOwnRoot runs a test on a thread with an empty root of its own, in which /run is a directory as
// any other.
func inOwnRoot(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a root of its own needs root")
	}
	root := t.TempDir()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		for _, step := range []func() error{
			func() error { return unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS) },
			func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
			func() error { return unix.Mount("tmpfs", root, "tmpfs", 0, "size=4m") },
			func() error { return unix.Chroot(root) },
			func() error { return unix.Chdir("/") },
			func() error { return unix.Mkdir("/run", 0o755) },
		} {
			if err := step(); err != nil {
				t.Error(err)
				return
			}
		}
		test(t)
	}()
	<-done
}

// makeAll makes files, and directories where a path ends with a slash, each with its parents.
func makeAll(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && !strings.HasSuffix(path, "/") {
			err = os.WriteFile(path, []byte(path), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// below are the paths of what is below a directory, sorted.
func below(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return paths
}

func wantBelow(t *testing.T, dir string, want ...string) {
	t.Helper()
	if paths := below(t, dir); !slices.Equal(paths, want) {
		t.Errorf("%s: %q, want %q", dir, paths, want)
	}
}

func TestACopySkipsItsOwnStage(t *testing.T) {
	for source, want := range map[string][]string{
		"/run":       {"/copy/f"},
		StageDir:     nil,
		"/run/above": {"/copy/f"},
	} {
		t.Run(source, func(t *testing.T) {
			inOwnRoot(t, func(t *testing.T) {
				makeAll(t, "/run/f", "/run/above/f", StageDir+"/.holt-copy-other/f")
				if source == "/run" {
					_ = os.RemoveAll("/run/above") // the list of what is wanted is shorter
				}
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				if _, err := Copy(ctx, Transfer{Source: source, Destination: "/copy", Recursive: true}); err != nil {
					t.Error(err)
				}
				wantBelow(t, "/copy", want...)
				wantBelow(t, StageDir, StageDir+"/.holt-copy-other", StageDir+"/.holt-copy-other/f")
			})
		})
	}
}

func TestADirectoryReplacesAnotherThatContainsItsStage(t *testing.T) {
	for source, want := range map[string][]string{
		"/run":   {"/old/.holt-stage", "/old/f"},
		StageDir: nil,
	} {
		for _, old := range []string{"/old/", "/old/full"} {
			t.Run(source+" over "+old, func(t *testing.T) {
				inOwnRoot(t, func(t *testing.T) {
					makeAll(t, "/run/f", StageDir+"/", old)
					if _, err := Move(context.Background(), Transfer{Source: source, Destination: "/old", Overwrite: true}); err != nil {
						t.Error(err)
					}
					wantBelow(t, "/old", want...)
					names, err := os.ReadDir("/")
					if err != nil || slices.ContainsFunc(names, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".holt-") }) {
						t.Errorf("%v %v", names, err)
					}
				})
			})
		}
	}
}

func TestAnUnremovableReplacedFileDoesNotTakeTheNameOfTheSource(t *testing.T) {
	for what, transfer := range map[string]func(context.Context, Transfer) (*Info, error){"move": Move, "copy": Copy} {
		t.Run(what, func(t *testing.T) {
			inOwnRoot(t, func(t *testing.T) {
				makeAll(t, "/source/new", "/old/mounted/")
				if err := unix.Mount("tmpfs", "/old/mounted", "tmpfs", 0, ""); err != nil {
					t.Error(err)
				}
				_, err := transfer(context.Background(), Transfer{Source: "/source", Destination: "/old", Recursive: true, Overwrite: true})
				if err == nil || !strings.HasPrefix(err.Error(), "internal: /old: it is in place, but what it replaced could not be removed wholly: ") {
					t.Error(err)
				}
				wantBelow(t, "/old", "/old/new")
				if _, err := os.Lstat("/source"); os.IsNotExist(err) != (what == "move") {
					t.Error(err)
				}
			})
		})
	}
}

func TestOnlyTheStageIsEmptied(t *testing.T) {
	inOwnRoot(t, func(t *testing.T) {
		if err := EmptyStage(); err != nil {
			t.Error("none:", err)
		}
		makeAll(t, "/kept/f", "/proc/", "/threads/", StageDir+"/.holt-put-1", StageDir+"/.holt-copy-1/a/b/c", StageDir+"/.holt-copy-2/mounted/")
		for _, err := range []error{
			os.Symlink("/kept", StageDir+"/.holt-link-1"),
			os.Symlink("/kept", StageDir+"/.holt-copy-1/a/link"),
			unix.Mount("proc", "/threads", "proc", 0, ""),
			os.Symlink("/threads/thread-self", "/proc/self"), // only this thread has this root
			unix.Mount("/kept", StageDir+"/.holt-copy-2/mounted", "", unix.MS_BIND, ""),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		if err := EmptyStage(); err == nil || !strings.Contains(err.Error(), "something is mounted at "+StageDir+"/.holt-copy-2/mounted") {
			t.Error(err)
		}
		const left = StageDir + "/.holt-copy-2"
		wantBelow(t, StageDir, left, left+"/mounted", left+"/mounted/f")
		wantBelow(t, "/kept", "/kept/f")

		// Not the guest's own.
		for _, change := range []func() error{
			func() error { return os.Chmod(StageDir, 0o755) },
			func() error { return os.Rename(StageDir, "/run/elsewhere") },
			func() error { return os.Symlink("elsewhere", StageDir) },
		} {
			if err := change(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(StageDir); err == nil && EmptyStage() == nil {
				t.Error("taken for the guest's own")
			}
		}
	})
}
