package process

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestRingAgainstAModel compares the ring with a list of every byte that was ever written.
func TestRingAgainstAModel(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 0))
		size := 1 + random.IntN(300)
		r := newRing(size)
		var all []byte
		var streams []Stream
		var times []int64
		now := int64(1_000)
		r.now = func() int64 { return now }
		for range 400 {
			now += int64(random.IntN(3 * markEvery))
			data := make([]byte, random.IntN(2*size))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			stream := Stream(1 + random.IntN(2))
			if len(data) > 0 {
				r.append(stream, data)
			}
			all = append(all, data...)
			for range data {
				streams = append(streams, stream)
				times = append(times, now)
			}
			if got, want := r.counts(), count(streams, len(all)-size); got != want {
				t.Fatalf("seed %d: counts %+v, want %+v", seed, got, want)
			}
			cursor := int64(random.IntN(len(all) + 1))
			buf := make([]byte, 1+random.IntN(size))
			n, got, from, at, more := r.read(cursor, buf)
			oldest := max(0, int64(len(all)-size))
			if want := max(cursor, oldest); from != want {
				t.Fatalf("seed %d: from %d, want %d", seed, from, want)
			}
			if (n == 0) != (from == int64(len(all))) || (more != nil) != (n == 0) {
				t.Fatalf("seed %d: %d bytes at %d of %d", seed, n, from, len(all))
			}
			if !bytes.Equal(buf[:n], all[from:from+int64(n)]) {
				t.Fatalf("seed %d: other bytes", seed)
			}
			for i := range n {
				if streams[from+int64(i)] != got {
					t.Fatalf("seed %d: bytes of both streams in one piece", seed)
				}
				if late := times[from+int64(i)] - at; late < 0 || late >= markEvery {
					t.Fatalf("seed %d: a byte of %d is told as of %d", seed, times[from+int64(i)], at)
				}
			}
		}
		r.drop()
		if got, want := r.counts(), count(streams, len(all)); got != want {
			t.Fatalf("seed %d: after the drop %+v, want %+v", seed, got, want)
		}
	}
}

// count tells what a ring should that was given these bytes and has let the first ones go.
func count(streams []Stream, gone int) counts {
	c := counts{cursor: int64(len(streams))}
	for i, stream := range streams {
		all, dropped := &c.stdout, &c.stdoutDropped
		if stream == Stderr {
			all, dropped = &c.stderr, &c.stderrDropped
		}
		*all++
		if i < gone {
			*dropped++
		}
	}
	return c
}

func TestRingLimitsTheCostOfAlternatingStreams(t *testing.T) {
	r := newRing(1 << 20)
	for i := range 100_000 {
		r.append(Stream(1+i%2), []byte{byte(i)})
	}
	if len(r.segments) > maxSegments {
		t.Fatalf("%d segments", len(r.segments))
	}
	buf := make([]byte, 10)
	n, stream, from, _, _ := r.read(99_999, buf)
	if n != 1 || stream != Stderr || from != 99_999 || buf[0] != byte(99_999&0xff) {
		t.Fatalf("the last byte: %d %d %d", n, stream, from)
	}
	if _, _, from, _, _ := r.read(0, buf); from == 0 || from >= 99_000 {
		t.Fatalf("kept from %d", from)
	}
}

func TestRingLimitsTheCostOfTimes(t *testing.T) {
	r := newRing(1 << 20)
	now := int64(0)
	r.now = func() int64 { return now }
	for i := range 100_000 {
		now = int64(i) * 1_000
		r.append(Stdout, []byte{byte(i)})
	}
	if len(r.marks) > maxMarks {
		t.Fatalf("%d marks", len(r.marks))
	}
	buf := make([]byte, 10)
	for cursor, before := int64(0), int64(0); cursor < 100_000; cursor += 997 {
		n, _, from, at, _ := r.read(cursor, buf)
		if n == 0 || from != cursor || at < before || at > cursor*1_000 || at < (cursor-100_000/(maxMarks/8))*1_000 {
			t.Fatalf("%d bytes at %d are told as of %d", n, from, at)
		}
		before = at
	}
	if _, _, _, at, _ := r.read(99_999, buf); at < 99_900_000 {
		t.Fatalf("the last byte is told as of %d", at)
	}
}

func TestRingWakesReadersAtAppendAndDrop(t *testing.T) {
	r := newRing(100)
	_, _, _, _, more := r.read(0, make([]byte, 1))
	r.append(Stdout, []byte("x"))
	<-more
	_, _, _, _, more = r.read(1, make([]byte, 1))
	r.drop()
	<-more
	if c := r.counts(); c.cursor != 1 || c.stdoutDropped != 1 || r.held() != 0 {
		t.Fatalf("after a drop: %+v", c)
	}
}

func BenchmarkRingAppend(b *testing.B) {
	r := newRing(1 << 20)
	data := make([]byte, 32<<10)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r.append(Stdout, data)
	}
}
