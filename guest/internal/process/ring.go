package process

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Stream is one of a process's two outputs.
type Stream uint8

const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// maxSegments limits the memory for a process that alternates between its outputs byte by byte.
const maxSegments = 8192

// segment is a sequence of bytes of one stream. It begins at the end of the previous one.
type segment struct {
	end    int64
	stream Stream
}

// markEvery is the precision of a byte's time, in milliseconds. It is doubled whenever there are
// more than maxMarks.
const (
	markEvery = 10
	maxMarks  = 8192
)

// mark holds the time at which a sequence of bytes began to be read, in milliseconds since the
// epoch. The sequence begins at the end of the previous one.
type mark struct {
	end, at int64
}

// ring keeps the last bytes of a process's output. Cursors count the bytes of both streams in the
// order in which they were read. Its memory is mapped outside of Go's heap at the first byte, and
// unmapped when it is dropped.
type ring struct {
	mu       sync.Mutex
	size     int
	memory   []byte
	segments []segment
	marks    []mark
	every    int64        // the precision of times
	now      func() int64 // the time in milliseconds since the epoch
	start    int64        // first cursor still held
	end      int64
	totals   [3]int64
	dropped  [3]int64
	changed  chan struct{}
	holders  []*hold       // the readers for which output waits
	room     chan struct{} // closed when one of them has advanced or left
}

func newRing(size int) *ring {
	return &ring{size: size, every: markEvery, now: func() int64 { return time.Now().UnixMilli() }}
}

// append appends bytes of a stream, and drops the oldest ones.
func (r *ring) append(stream Stream, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.totals[stream] += int64(len(data))
	if r.memory == nil {
		memory, err := unix.Mmap(-1, 0, r.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil { // out of memory: the output is counted as dropped
			r.end += int64(len(data))
			r.start = r.end
			r.dropped[stream] += int64(len(data))
			r.wake()
			return
		}
		r.memory = memory
	}
	kept := data
	if skip := len(data) - r.size; skip > 0 {
		kept = data[skip:]
		r.end += int64(skip)
	}
	at := int(r.end % int64(r.size))
	n := copy(r.memory[at:], kept)
	copy(r.memory, kept[n:])
	r.end += int64(len(kept))
	if last := len(r.segments) - 1; last >= 0 && r.segments[last].stream == stream {
		r.segments[last].end = r.end
	} else {
		r.segments = append(r.segments, segment{r.end, stream})
	}
	r.mark(r.now())
	r.trim()
	r.wake()
}

// mark notes the time of the bytes appended last.
func (r *ring) mark(at int64) {
	if last := len(r.marks) - 1; last >= 0 && at >= r.marks[last].at && at < r.marks[last].at+r.every {
		r.marks[last].end = r.end
		return
	}
	r.marks = append(r.marks, mark{r.end, at})
	if len(r.marks) <= maxMarks {
		return
	}
	r.marks = slices.DeleteFunc(r.marks, func(m mark) bool { return m.end <= r.end-int64(r.size) })
	for len(r.marks) > maxMarks/2 {
		r.every *= 2
		kept := r.marks[:1]
		for _, m := range r.marks[1:] {
			if last := &kept[len(kept)-1]; m.at < last.at+r.every {
				last.end = m.end
			} else {
				kept = append(kept, m)
			}
		}
		r.marks = kept
	}
}

// markOf returns the mark of the byte at cursor. Every byte in the ring has one.
func (r *ring) markOf(cursor int64) mark {
	i, _ := slices.BinarySearchFunc(r.marks, cursor+1, func(m mark, end int64) int { return cmp.Compare(m.end, end) })
	return r.marks[i]
}

// trim drops bytes that no longer fit. The list of segments shrinks in large steps, so that
// appending stays cheap.
func (r *ring) trim() {
	r.letGo(r.end - int64(r.size))
	if len(r.segments) > maxSegments {
		r.letGo(r.segments[maxSegments/8].end)
	}
	if gone := r.find(r.start); gone > 0 && (gone >= len(r.segments)/2 || len(r.segments) > maxSegments) {
		r.segments = r.segments[:copy(r.segments, r.segments[gone:])]
	}
}

// letGo counts the bytes before a cursor as dropped, for each stream.
func (r *ring) letGo(before int64) {
	for i := r.find(r.start); r.start < before; i++ {
		end := min(r.segments[i].end, before)
		r.dropped[r.segments[i].stream] += end - r.start
		r.start = end
	}
}

// wake notifies all waiting readers.
func (r *ring) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// read copies bytes of one stream that follow cursor into buf, and returns the time at which they
// were read. from is the cursor of these bytes, which is later than cursor if bytes were dropped.
// If there are none, n is 0 and more is closed at the next change.
func (r *ring) read(cursor int64, buf []byte) (n int, stream Stream, from, at int64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from = max(cursor, r.start)
	if from >= r.end {
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		return 0, 0, from, 0, r.changed
	}
	seg := r.segments[r.find(from)]
	mark := r.markOf(from)
	n = int(min(seg.end-from, mark.end-from, int64(len(buf))))
	first := copy(buf[:n], r.memory[from%int64(r.size):])
	copy(buf[first:n], r.memory)
	return n, seg.stream, from, mark.at, nil
}

// hold is a reader for which output waits.
type hold struct {
	at int64 // the reader's cursor; guarded by the ring's lock
}

// hold makes output wait for a reader, which is at cursor, until it is released.
func (r *ring) hold(cursor int64) *hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &hold{cursor}
	r.holders = append(r.holders, h)
	return h
}

// advance sets a reader's cursor.
func (r *ring) advance(h *hold, cursor int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.at = cursor
	r.makeRoom()
}

// release ends the wait for a reader.
func (r *ring) release(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holders = slices.DeleteFunc(r.holders, func(other *hold) bool { return other == h })
	r.makeRoom()
}

func (r *ring) makeRoom() {
	if r.room != nil {
		close(r.room)
		r.room = nil
	}
}

// wait returns nil if more output may be appended, and otherwise a channel that is closed before
// the next attempt. Half of the ring stays free for the bytes in the pipes at the process's end,
// which are read without waiting.
func (r *ring) wait() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := false
	for _, h := range r.holders {
		held = held || r.end-h.at >= int64(r.size)/2 || len(r.segments)-r.find(h.at) >= maxSegments/2
	}
	if !held {
		return nil
	}
	if r.room == nil {
		r.room = make(chan struct{})
	}
	return r.room
}

// find returns the index of the segment that contains the byte at cursor.
func (r *ring) find(cursor int64) int {
	low, high := 0, len(r.segments)
	for low < high {
		mid := (low + high) / 2
		if r.segments[mid].end > cursor {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// notify wakes the readers without new bytes, after the process's state has changed.
func (r *ring) notify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
}

// held returns the largest amount of memory that the ring uses, in bytes.
func (r *ring) held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory == nil {
		return 0
	}
	return min(r.end, int64(r.size))
}

// drop unmaps the memory. All bytes count as dropped.
func (r *ring) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory != nil {
		_ = unix.Munmap(r.memory) // the mapping is complete, so this cannot fail
		r.memory = nil
	}
	r.letGo(r.end)
	r.segments, r.marks = nil, nil
	r.wake()
}

// counts holds the bytes of each stream and the dropped ones. cursor is after the last byte.
type counts struct {
	cursor                       int64
	stdout, stderr               int64
	stdoutDropped, stderrDropped int64
}

func (r *ring) counts() counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return counts{r.end, r.totals[Stdout], r.totals[Stderr], r.dropped[Stdout], r.dropped[Stderr]}
}
