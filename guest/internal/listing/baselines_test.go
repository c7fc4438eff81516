package listing

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"holt.dev/guest/internal/archive"
)

// nothing returns rules that hide the tree of this machine.
func nothing(t *testing.T) *archive.Rules {
	t.Helper()
	rules := &archive.Rules{Absent: map[string]bool{}}
	names, err := os.ReadDir("/")
	must(t, err)
	for _, each := range names {
		rules.Absent[each.Name()] = true
	}
	return rules
}

func (b *Baselines) records(t *testing.T, id string) []record {
	t.Helper()
	open := b.Open(id)
	if open == nil {
		return nil
	}
	all, err := io.ReadAll(open)
	must(t, err)
	return parse(t, all)
}

func TestABaselineIsKeptUntilItIsTooOld(t *testing.T) {
	rules := nothing(t)
	b := &Baselines{}
	take := func(id string) {
		if kept, err := b.Take(context.Background(), id, rules); !kept || err != nil {
			t.Fatal(kept, err)
		}
	}
	if b.Open("") != nil || b.Open("none") != nil {
		t.Fatal("there is no baseline yet")
	}
	take("first")
	b.Use("first")
	b.Adopt()
	for i := range maxBaselines + 2 {
		take(fmt.Sprint(i))
	}
	if len(b.all) != maxBaselines || b.records(t, "0") != nil || b.records(t, fmt.Sprint(maxBaselines+1)) == nil {
		t.Fatalf("%d baselines", len(b.all))
	}
	if got := b.records(t, ""); len(got) == 0 || got[0].kind != 'd' || got[len(got)-1].kind != kindEnd {
		t.Fatalf("the origin: %+v", got)
	}
	b.Use("")
	b.Adopt()
	if b.Open("") != nil {
		t.Fatal("a checkpoint without a baseline has the one of another")
	}
}

func TestABaselineOfManyBytesOrMuchTimeIsNotKept(t *testing.T) {
	b := &Baselines{all: []baseline{{"big", make([]byte, maxAllBytes)}}}
	if kept, err := b.Take(context.Background(), "next", nothing(t)); !kept || err != nil || b.Open("big") != nil {
		t.Fatal("the limit of all baselines")
	}
	noise := make([]byte, maxBaselineBytes+1)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	if _, err := (&limitedBuffer{}).Write(noise); err != errTooLarge {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if kept, err := b.Take(ended, "never", nothing(t)); kept || err == nil || b.Open("never") != nil {
		t.Fatal(kept, err)
	}
}

func TestContentsAreKeptWhileThereIsRoom(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(root+"/small", []byte("12345"), 0o644))
	must(t, os.WriteFile(root+"/large", make([]byte, maxKeptFile+1), 0o644))
	must(t, os.WriteFile(root+"/empty", nil, 0o644))
	for _, room := range []Keep{{content: 5, digested: maxKeptFile + 1}, {content: 4, digested: 5}, {}} {
		keep := room
		var out limitedBuffer
		must(t, Tree{Path: root, Rules: &archive.Rules{}, Keep: &keep}.Write(context.Background(), &out))
		for _, r := range parse(t, out.Bytes()) {
			if r.kind != 'f' {
				continue
			}
			hasContent := r.name == "empty" || r.name == "small" && room.content >= 5
			hasDigest := hasContent || r.name == "small" && room.digested >= 5 || r.name == "large" && room.digested > maxKeptFile
			if (r.flags&flagContent != 0) != hasContent || (r.flags&flagDigest != 0) != hasDigest {
				t.Fatalf("%+v with %+v", r.flags, room)
			}
			if r.name == "small" && hasDigest && r.digest != sha256.Sum256([]byte("12345")) {
				t.Fatalf("%+v", r)
			}
		}
	}
}
