package patched

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestChanged(t *testing.T) {
	const smaps = `00069000-0006e000 r-xp 00000000 00:00 0                                  [usertrap]
Size:                 20 kB
Anonymous:            20 kB
00400000-00402000 r-xp 00000000 00:19 73                         /bin/a name
Size:                  8 kB
Rss:                   8 kB
Anonymous:             4 kB
VmFlags: rd ex
7ec59618e000-7ec5962e4000 r-xp 00026000 00:19 95                         /lib/untouched.so
Anonymous:             0 kB
7ec5962e4000-7ec5962e5000 rw-p 00026000 00:19 96                         /lib/data.so
Anonymous:             4 kB
7ec59634d000-7ec59634f000 r-xp 00000000 00:00 0
Anonymous:             8 kB
7ec596350000-7ec596376000 r-xp 00001000 00:19 111                        /lib64/ld.so
Anonymous:            12 kB
`
	s := newSearch(time.Minute)
	s.seen[file{"/lib64/ld.so", 110}] = true
	got := s.changed(strings.NewReader(smaps))
	if want := []file{{"/bin/a name", 73}, {"/lib64/ld.so", 111}}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if again := s.changed(strings.NewReader(smaps)); len(again) != 0 {
		t.Errorf("again %v", again)
	}
}

// endless is a table of one mapping over and over. The time of the search is over with its third piece.
type endless struct {
	of    *search
	reads int
}

func (e *endless) Read(into []byte) (int, error) {
	if e.reads++; e.reads == 3 {
		e.of.end = time.Now().Add(-time.Second)
	}
	return copy(into, "00400000-00402000 r-xp 00000000 00:19 73 /bin/many\nAnonymous: 4 kB\n"), nil
}

func TestChangedInTime(t *testing.T) {
	s := newSearch(time.Minute)
	table := endless{of: s}
	got := s.changed(&table)
	if want := []file{{"/bin/many", 73}}; !slices.Equal(got, want) || table.reads != 3 {
		t.Errorf("%d files in %d reads", len(got), table.reads)
	}
}
