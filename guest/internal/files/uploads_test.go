package files

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAbandonedUploadIsRemoved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("owners need root")
	}
	dir := t.TempDir()
	u := NewUploads()
	u.idle = 20 * time.Millisecond
	part := Part{Upload: Upload{Path: dir + "/made/file", Body: strings.NewReader("some")}, ID: "upload-1"}
	result, err := u.Put(context.Background(), part)
	if err != nil || result.Status.OffsetBytes != 4 {
		t.Fatal(result, err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left, err := os.ReadDir(dir)
		if err == nil && len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(left)
		}
	}
	if status, err := u.Status(context.Background(), part.Path, "upload-1"); err != nil || status.OffsetBytes != 0 {
		t.Fatal(status, err)
	}
}

func TestAnInterruptedPartIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("owners need root")
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	u := NewUploads()
	path := t.TempDir() + "/file"
	for n := range int64(50) { // more often than chance would let it through
		part := Part{Upload: Upload{Path: path, Body: strings.NewReader("x")}, ID: "upload-1", Offset: n}
		if result, err := u.Put(gone, part); err != nil || result.Status.OffsetBytes != n+1 {
			t.Fatal(n, result, err)
		}
	}
}
