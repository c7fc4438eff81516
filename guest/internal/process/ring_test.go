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
		for range 400 {
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
			}
			if got, want := r.counts(), count(streams, len(all)-size); got != want {
				t.Fatalf("seed %d: counts %+v, want %+v", seed, got, want)
			}
			cursor := int64(random.IntN(len(all) + 1))
			buf := make([]byte, 1+random.IntN(size))
			n, got, from, more := r.read(cursor, buf)
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

func TestRingBoundsWhatAlternatingStreamsCost(t *testing.T) {
	r := newRing(1 << 20)
	for i := range 100_000 {
		r.append(Stream(1+i%2), []byte{byte(i)})
	}
	if len(r.segments) > maxSegments {
		t.Fatalf("%d segments", len(r.segments))
	}
	buf := make([]byte, 10)
	n, stream, from, _ := r.read(99_999, buf)
	if n != 1 || stream != Stderr || from != 99_999 || buf[0] != byte(99_999&0xff) {
		t.Fatalf("the last byte: %d %d %d", n, stream, from)
	}
	if _, _, from, _ := r.read(0, buf); from == 0 || from >= 99_000 {
		t.Fatalf("kept from %d", from)
	}
}

func TestRingWakesReadersAtAppendAndDrop(t *testing.T) {
	r := newRing(100)
	_, _, _, more := r.read(0, make([]byte, 1))
	r.append(Stdout, []byte("x"))
	<-more
	_, _, _, more = r.read(1, make([]byte, 1))
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
