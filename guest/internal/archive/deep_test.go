package archive

import (
	"context"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

// heapWatch is a writer that remembers how large the heap was at most when something was written.
type heapWatch struct{ most uint64 }

func (w *heapWatch) Write(b []byte) (int, error) {
	w.most = max(w.most, heap())
	return len(b), nil
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestADeepTreeUsesMemoryInProportionToItsDepth(t *testing.T) {
	depth := 6000 // the names of all directories together have 36 MB
	if testing.Short() {
		depth = 4000 // 16 MB, which is still more than the heap may grow by
	}
	root := open(t, t.TempDir())
	defer unix.Close(root)
	defer func() { must(t, fdtree.RemoveAll(context.Background(), root, "d")) }()
	at := open(t, "/")
	must(t, unix.Dup3(root, at, unix.O_CLOEXEC))
	for range depth {
		must(t, unix.Mkdirat(at, "d", 0o755))
		below, err := fdtree.OpenDir(at, "d")
		must(t, err)
		must(t, unix.Close(at))
		at = below
	}
	must(t, unix.Close(at))
	top, err := fdtree.OpenDir(root, ".")
	must(t, err)
	before := heap()
	watch := &heapWatch{}
	must(t, Pack(context.Background(), top, "/deep", Tar, watch))
	if grown := watch.most - min(watch.most, before); grown > 10<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}
