package ports

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseAcceptsOneFormOfEachPort(t *testing.T) {
	for _, text := range []string{"1", "80", "2280", "65535"} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "0", "65536", "02280", "+2280", "-1", " 80", "80 ", "8e1", "0x50", "80.0", "２２８０", "99999999999999999999"} {
		if port, err := Parse(text); err == nil {
			t.Errorf("%q is %d", text, port)
		}
	}
}

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0457 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0        1 1
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0        1 1
   2: 0200000A:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0        1 1
   3: 0100007F:1F92 0100007F:0457 01 00000000:00000000 00:00000000 00000000     0        0        1 1
   4: 00000000000000000000000000000000:08AE 00000000000000000000000000000000:0000 0A 0 0
   5: 00000000000000000000000001000000:0D05 00000000000000000000000000000000:0000 0A 0 0
   6: 0000000000000000FFFF00000100007F:0D06 00000000000000000000000000000000:0000 0A 0 0
   7: 00000000000000000000000002000000:0D07 00000000000000000000000000000000:0000 0A 0 0
`

func TestFindsOnlyServersOnLoopback(t *testing.T) {
	found, err := readTable(strings.NewReader(table))
	if err != nil || !slices.Equal(found, []uint16{0x457, 0x1f90, 0x8ae, 0xd05, 0xd06}) {
		t.Fatal(found, err)
	}
}

func FuzzTableIsNeverTrusted(f *testing.F) {
	f.Add(table)
	f.Add("0: :0 x 0A")
	f.Add("0: 01:1 x 0A\n0: 0100007F:FFFFF x 0A")
	f.Fuzz(func(t *testing.T, text string) {
		ports, _ := readTable(strings.NewReader(text))
		if slices.Contains(ports, 0) {
			t.Fatal("port 0")
		}
	})
}

func FuzzFramesAreBounded(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'x', 1, 0, 0, 0})
	f.Add([]byte{2, 4, 0, 0})
	f.Add([]byte{0, 1, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		frames := &frameReader{from: bytes.NewReader(data)}
		for {
			kind, number, err := frames.next()
			if err != nil {
				return
			}
			if kind > frameWindow || number > windowBytes || (kind == frameData && number > maxDataBytes) {
				t.Fatal(kind, number)
			}
			if kind == frameData {
				_, _ = io.CopyN(io.Discard, frames.from, int64(number))
			}
		}
	})
}

// host is the other end of a connection that is carried.
type host struct {
	t       *testing.T
	program *net.TCPConn // what the program holds
	send    *io.PipeWriter
	frames  *frameReader
	done    chan error
}

func carry(t *testing.T, ctx context.Context) *host {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := Connect(ctx, uint16(listener.Addr().(*net.TCPAddr).Port))
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	requestOut, request := io.Pipe()
	answerOut, answer := io.Pipe()
	h := &host{t: t, program: accepted.(*net.TCPConn), send: request, frames: &frameReader{from: answerOut}, done: make(chan error, 1)}
	go func() {
		err := Carry(ctx, conn, requestOut, answer, func() error { return nil })
		_ = answer.Close()
		_ = requestOut.Close()
		h.done <- err
	}()
	t.Cleanup(func() {
		_ = accepted.Close()
		_ = request.Close()
		_ = answerOut.Close()
	})
	return h
}

func (h *host) say(kind byte, number int, data string) {
	_, _ = h.send.Write(append(appendHead(nil, kind, number), data...)) // fails when the connection is over
}

// hear reads frames up to one of this kind, and answers the data until then.
func (h *host) hear(until byte) string {
	h.t.Helper()
	var all []byte
	for {
		kind, number, err := h.frames.next()
		if err != nil {
			h.t.Fatal(err)
		}
		if kind == frameData {
			data := make([]byte, number)
			if _, err := io.ReadFull(h.frames.from, data); err != nil {
				h.t.Fatal(err)
			}
			all = append(all, data...)
		}
		if kind == until {
			return string(all)
		}
	}
}

func (h *host) ends() error {
	h.t.Helper()
	select {
	case err := <-h.done:
		return err
	case <-time.After(20 * time.Second):
		h.t.Fatal("it is carried on")
		return nil
	}
}

func TestEitherSideCanEndFirst(t *testing.T) {
	h := carry(t, context.Background())
	_, _ = h.program.Write([]byte("last words"))
	_ = h.program.CloseWrite()
	if said := h.hear(frameEnd); said != "last words" {
		t.Fatal(said)
	}
	h.say(frameData, 5, "still")
	h.say(frameEnd, 0, "")
	heard, err := io.ReadAll(h.program)
	if string(heard) != "still" || err != nil {
		t.Fatal(heard, err)
	}
	if err := h.ends(); err != nil {
		t.Fatal(err)
	}

	h = carry(t, context.Background())
	h.say(frameData, 3, "ask")
	h.say(frameEnd, 0, "")
	if asked, err := io.ReadAll(h.program); string(asked) != "ask" || err != nil {
		t.Fatal(asked, err)
	}
	_, _ = h.program.Write([]byte("answer"))
	_ = h.program.Close()
	if said := h.hear(frameEnd); said != "answer" {
		t.Fatal(said)
	}
	if err := h.ends(); err != nil {
		t.Fatal(err)
	}
}

func TestABreakOfTheHostResetsTheProgram(t *testing.T) {
	h := carry(t, context.Background())
	_ = h.send.CloseWithError(io.ErrUnexpectedEOF)
	if _, err := h.program.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Fatal(err)
	}
	if h.ends() == nil {
		t.Fatal("it was no failure")
	}
}

func TestAResetOfTheProgramIsAFailure(t *testing.T) {
	h := carry(t, context.Background())
	_ = h.program.SetLinger(0)
	_ = h.program.Close()
	if h.ends() == nil {
		t.Fatal("it was no failure")
	}
}

func TestACancelledContextResetsTheStream(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := carry(t, ctx)
	cancel()
	if h.ends() == nil {
		t.Fatal("it was no failure")
	}
}

func TestNeitherSideGetsMoreThanItsWindow(t *testing.T) {
	h := carry(t, context.Background())
	go func() { _, _ = h.program.Write(make([]byte, 4*windowBytes)) }()
	for got := 0; got < windowBytes; {
		kind, number, err := h.frames.next()
		if err != nil || kind != frameData {
			t.Fatal(kind, err)
		}
		_, _ = io.CopyN(io.Discard, h.frames.from, int64(number))
		got += number
	}
	h.say(frameWindow, 10, "")
	if kind, number, err := h.frames.next(); kind != frameData || number != 10 || err != nil {
		t.Fatal(kind, number, err)
	}
}

func TestAProtocolErrorClosesTheStream(t *testing.T) {
	tooMuch := appendHead(nil, frameWindow, windowBytes)
	afterEnd := append(appendHead(nil, frameEnd, 0), appendHead(nil, frameEnd, 0)...)
	for name, bytes := range map[string][]byte{
		"an unknown kind":      {9, 0, 0, 0},
		"empty data":           {0, 0, 0, 0},
		"too large a frame":    binary.BigEndian.AppendUint32(nil, maxDataBytes+1),
		"more room than there": tooMuch,
		"an end after the end": afterEnd,
		"an end of the stream": {},
	} {
		h := carry(t, context.Background())
		go func() {
			_, _ = h.send.Write(bytes)
			_ = h.send.Close()
		}()
		if h.ends() == nil {
			t.Error(name)
		}
	}
}
