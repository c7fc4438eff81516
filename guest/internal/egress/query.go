package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// MessageMax limits a DNS message, in both directions.
const MessageMax = 4 << 10

const messageType = "application/dns-message"

// Query sends a DNS query to the host and returns the response.
func (c *Client) Query(ctx context.Context, message []byte, process string) ([]byte, error) {
	request := (&http.Request{
		Method:        http.MethodPost,
		URL:           &url.URL{Scheme: "http", Host: "egress", Path: "/dns-query"},
		Header:        http.Header{"User-Agent": nil, "Content-Type": {messageType}, "Accept": {messageType}},
		Body:          io.NopCloser(bytes.NewReader(message)),
		ContentLength: int64(len(message)),
	}).WithContext(ctx)
	if process != "" {
		request.Header.Set(processHeader, process)
	}
	response, err := c.roundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New("the resolver answered " + strconv.Itoa(response.StatusCode))
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, MessageMax+1))
	if err == nil && len(answer) > MessageMax {
		err = errors.New("the resolver's answer is too long")
	}
	return answer, err
}
