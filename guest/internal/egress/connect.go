package egress

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
)

// processHeader names the process that connects. It is informational, and never a credential.
const processHeader = "X-Holt-Process"

// Refused is the host's response to a CONNECT that it did not accept.
type Refused struct {
	Status int
	Reason string
}

func (r *Refused) Error() string { return fmt.Sprintf("refused: %d %s", r.Status, r.Reason) }

// Connect asks the host for a connection to an address. It sends the bytes of body: the end
// half-closes the stream, and an error resets it. It returns the received bytes, whose end and
// errors have the same meaning. Closing them, or the end of the context, resets the stream.
func (c *Client) Connect(ctx context.Context, target netip.AddrPort, process string, body io.ReadCloser) (io.ReadCloser, error) {
	request := (&http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Scheme: "http", Host: target.String()},
		Host:   target.String(),
		Header: http.Header{"User-Agent": nil},
		Body:   body,
		// Unknown: the stream ends with the body.
		ContentLength: -1,
	}).WithContext(ctx)
	if process != "" {
		request.Header.Set(processHeader, process)
	}
	response, err := c.roundTrip(request)
	if err != nil {
		body.Close()
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, &Refused{Status: response.StatusCode, Reason: response.Header.Get("X-Holt-Reason")}
	}
	return response.Body, nil
}
