package supervise

import (
	"reflect"
	"testing"
)

func TestAStartIsDecodedAsItWasEncoded(t *testing.T) {
	for _, s := range []*Start{
		{Argv: []string{}, Env: []string{}},
		{Path: "/bin/sh", Argv: []string{"sh", "", "a\xff b"}, Env: []string{"A=1", "B="}, Dir: "/x", Umask: 0o27, UID: 1, GID: 1<<32 - 2, Groups: []uint32{3, 4}, Switch: true},
	} {
		got, err := decodeStart(s.encode()[4:])
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
}

func FuzzDecodeStart(f *testing.F) {
	f.Add((&Start{Path: "/bin/sh", Argv: []string{"sh"}, Env: []string{"A=1"}, Dir: "/", Groups: []uint32{1}}).encode()[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeStart(b)
		if err != nil {
			return
		}
		if again, err := decodeStart(s.encode()[4:]); err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%+v, %+v, %v", s, again, err)
		}
	})
}

func TestParsesStatOfAnyName(t *testing.T) {
	for _, c := range []struct {
		stat   string
		parent int
		state  byte
		ok     bool
	}{
		{"12 (sh) S 7 12 12", 7, 'S', true},
		{"12 (a) R (b) Z 9 12", 9, 'Z', true},
		{"12 () ) ) S 3 1", 3, 'S', true},
		{"12 (x", 0, 0, false},
		{"", 0, 0, false},
		{"12 (x) S", 0, 0, false},
		{"12 (x) S y", 0, 'S', false},
	} {
		parent, state, ok := parseStat([]byte(c.stat))
		if parent != c.parent || state != c.state || ok != c.ok {
			t.Errorf("%q: %d %v %v", c.stat, parent, state, ok)
		}
	}
}

func TestATreeIsIncompleteIfAParentIsMissing(t *testing.T) {
	whole := tree{children: map[int][]int{0: {1}, 1: {2}, 2: {3}}, live: map[int]bool{1: true, 2: false, 3: true}}
	if whole.torn() {
		t.Error("it is whole: one that has ended is there until it is reaped")
	}
	whole.children[9] = []int{4}
	if !whole.torn() {
		t.Error("nobody is 9")
	}
}

func TestBelowFindsEveryLiveDescendantOnce(t *testing.T) {
	tr := tree{
		children: map[int][]int{1: {2, 3}, 2: {4}, 4: {5}, 9: {10}, 5: {2}},
		live:     map[int]bool{1: true, 2: true, 3: false, 4: true, 5: true, 10: true},
	}
	if got := tr.below([]int{1}, false); !reflect.DeepEqual(got, []int{2, 4, 5}) {
		t.Fatal(got)
	}
	if got := tr.below([]int{1}, true); !reflect.DeepEqual(got, []int{1, 2, 4, 5}) {
		t.Fatal(got)
	}
}
