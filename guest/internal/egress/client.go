// Package egress carries connections and DNS queries to the host, over HTTP/2 on the egress socket:
// CONNECT streams (RFC 9113, section 8.5) and DNS over HTTPS (RFC 8484).
package egress

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

const (
	// windowBytes is the size of a stream's receive buffer. The number of streams limits the total,
	// and not a window of the connection. Otherwise one program that does not read would block all
	// others.
	windowBytes = 512 << 10
	frameBytes  = 64 << 10
	// readAheadBytes is the size of one read from the connection.
	readAheadBytes = 128 << 10
	// headerBytes limits the header of a response.
	headerBytes = 16 << 10
	// dialTimeout is generous, because a listening socket accepts connections at once.
	dialTimeout = 5 * time.Second
	// idleTimeout closes an idle connection.
	idleTimeout = 2 * time.Minute
	// connectionsMax limits the connections. Another one is made if the host accepts no more
	// streams on the others.
	connectionsMax = 4
)

// ErrUnavailable is returned if the host does not listen, or if the connection to it broke.
var ErrUnavailable = errors.New("the egress connection is closed")

// Client connects to the host's egress socket. It dials on demand, and again after a connection
// broke.
type Client struct {
	path      string
	transport *http2.Transport
	mu        sync.Mutex
	closed    bool
	conns     []*http2.ClientConn
	dialing   *dialing
}

// dialing is one attempt, which all callers that need a connection share.
type dialing struct {
	done chan struct{}
	err  error
}

// New returns a client of the egress socket at path. It does not dial yet.
func New(path string) *Client {
	base := &http.Transport{
		DisableCompression: true,
		IdleConnTimeout:    idleTimeout,
		HTTP2:              &http.HTTP2Config{MaxReceiveBufferPerStream: windowBytes},
	}
	transport, err := http2.ConfigureTransports(base)
	if err != nil { // only if it is configured twice
		panic(err)
	}
	transport.AllowHTTP = true
	transport.MaxReadFrameSize = frameBytes
	transport.MaxHeaderListSize = headerBytes
	return &Client{path: path, transport: transport}
}

// Close closes all connections. Running and later requests fail.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close() // already removed from the list
	}
}

// roundTrip sends a request over a connection that has room for it.
func (c *Client) roundTrip(request *http.Request) (*http.Response, error) {
	conn, err := c.reserve(request.Context())
	if err != nil {
		return nil, err
	}
	response, err := conn.RoundTrip(request)
	if err != nil {
		return nil, errors.Join(ErrUnavailable, err)
	}
	return response, nil
}

// reserve returns a connection with room for another stream, which is reserved for the caller.
func (c *Client) reserve(ctx context.Context) (*http2.ClientConn, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, ErrUnavailable
		}
		live := c.conns[:0]
		var free *http2.ClientConn
		for _, conn := range c.conns {
			if state := conn.State(); state.Closed || state.Closing {
				continue
			}
			live = append(live, conn)
			if free == nil && conn.ReserveNewRequest() {
				free = conn
			}
		}
		clear(c.conns[len(live):])
		c.conns = live
		if free != nil {
			c.mu.Unlock()
			return free, nil
		}
		if len(live) >= connectionsMax {
			c.mu.Unlock()
			return nil, ErrUnavailable
		}
		attempt := c.dialing
		if attempt == nil {
			attempt = &dialing{done: make(chan struct{})}
			c.dialing = attempt
			go c.dial(attempt)
		}
		c.mu.Unlock()
		select {
		case <-attempt.done:
			if attempt.err != nil {
				return nil, errors.Join(ErrUnavailable, attempt.err)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *Client) dial(attempt *dialing) {
	conn, err := c.connect()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialing = nil
	attempt.err = err
	if err == nil && c.closed {
		_ = conn.Close()
	} else if err == nil {
		c.conns = append(c.conns, conn)
	}
	close(attempt.done)
}

func (c *Client) connect() (*http2.ClientConn, error) {
	conn, err := net.DialTimeout("unix", c.path, dialTimeout)
	if err != nil {
		return nil, err
	}
	client, err := c.transport.NewClientConn(&bufferedConn{Conn: conn, reader: bufio.NewReaderSize(conn, readAheadBytes)})
	if err != nil {
		conn.Close()
	}
	return client, err
}

// bufferedConn reads several frames at once, because system calls are expensive in gVisor.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c *bufferedConn) Read(b []byte) (int, error) { return c.reader.Read(b) }
