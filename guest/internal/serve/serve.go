// Package serve implements HTTP/2 on one connection that the guest has dialled.
package serve

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// windowBytes limits the unread bytes of uploads. It is the largest value that the library
	// accepts.
	windowBytes = 4<<20 - 1
	frameBytes  = 1 << 20
	// readBytes is about the size of a Unix socket's buffer.
	readBytes  = 256 << 10
	maxStreams = 1000
	// maxHeaderBytes has room for two paths of 4096 bytes, each percent-encoded.
	maxHeaderBytes = 64 << 10
	// DrainTimeout limits the time in which requests and the connection have to end after Quiesce.
	DrainTimeout = 2 * time.Second
	// flushTimeout is the time for which a connection is kept for the last frames, if their write
	// is not observed.
	flushTimeout = 100 * time.Millisecond
)

// Session is one connection with its requests.
type Session struct {
	conn    *watchedConn
	server  *http.Server
	cancel  context.CancelFunc
	ending  atomic.Bool
	closing sync.Once
	done    chan struct{}
}

type sessionKey struct{}

// Of returns the session of a request.
func Of(r *http.Request) *Session {
	s, _ := r.Context().Value(sessionKey{}).(*Session)
	return s
}

// Conn serves requests on a connection until it is closed, and returns after their handlers have
// ended.
func Conn(conn net.Conn, handler http.Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &Session{cancel: cancel, done: make(chan struct{})}
	s.conn = &watchedConn{Conn: conn, in: bufio.NewReaderSize(conn, readBytes), session: s}
	var handlers sync.WaitGroup
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	s.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			handler.ServeHTTP(w, r)
		}),
		Protocols:      &protocols,
		MaxHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReadFrameSize:              frameBytes,
			MaxReceiveBufferPerConnection: windowBytes,
			MaxReceiveBufferPerStream:     windowBytes,
		},
		BaseContext: func(net.Listener) context.Context { return context.WithValue(ctx, sessionKey{}, s) },
		ConnState:   s.onState,
		ErrorLog:    log.New(io.Discard, "", 0), // handlers report the errors of their streams
	}
	// Serve ends with the listener, whose error is not informative.
	_ = s.server.Serve(&singleListener{conn: s.conn, done: s.done})
	cancel()
	handlers.Wait()
}

// Quiesce ends every stream and then the connection, after the calling handler has answered.
func (s *Session) Quiesce() {
	s.ending.Store(true)
	s.cancel()
	time.AfterFunc(DrainTimeout, s.close)
}

// Ending returns true if the connection ends for a checkpoint, after which the host reconnects.
func (s *Session) Ending() bool { return s.ending.Load() }

// onState is called by the library when no stream is open any more, and when the connection is
// closed.
func (s *Session) onState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateIdle:
		if s.ending.Load() {
			// The last frame is in the library's buffer, and the next write sends it.
			s.conn.last.Store(true)
			time.AfterFunc(flushTimeout, s.close)
		}
	case http.StateClosed, http.StateHijacked:
		s.close()
	}
}

func (s *Session) close() {
	s.closing.Do(func() {
		_ = s.conn.Conn.Close() // the host sees the end in any case
		close(s.done)
	})
}

// watchedConn closes itself after the write that is marked as the last. It reads large blocks,
// because in gVisor a call to the host costs more than the bytes. The library reads a frame's head
// and its 16 KiB separately.
type watchedConn struct {
	net.Conn
	in      *bufio.Reader
	session *Session
	last    atomic.Bool
}

func (c *watchedConn) Read(b []byte) (int, error) { return c.in.Read(b) }

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.last.Load() {
		c.session.close()
	}
	return n, err
}

func (c *watchedConn) Close() error {
	c.session.close()
	return nil
}

// singleListener returns one connection and then waits for its end.
type singleListener struct {
	conn net.Conn
	done <-chan struct{}
	used atomic.Bool
}

func (l *singleListener) Accept() (net.Conn, error) {
	if l.used.CompareAndSwap(false, true) {
		return l.conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *singleListener) Close() error   { return nil }
func (l *singleListener) Addr() net.Addr { return l.conn.LocalAddr() }
