package watch

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Type is the type of a change.
type Type string

const (
	Start      Type = "start"
	Created    Type = "created"
	Modified   Type = "modified"
	Attributes Type = "attributes"
	Removed    Type = "removed"
	Moved      Type = "moved"
	Overflow   Type = "overflow"
	End        Type = "end"
)

// change is an item before it is encoded. Paths are bytes.
type change struct {
	kind      Type
	path      string
	from      string
	directory bool
	reason    string // of an End item
}

// Item is a change in the host's format. Paths are valid UTF-8. The base64 fields are set if the
// conversion to UTF-8 loses bytes.
type Item struct {
	Type       Type   `json:"type"`
	Cursor     int64  `json:"cursor"`
	Path       string `json:"path,omitempty"`
	PathBase64 string `json:"path_base64,omitempty"`
	From       string `json:"from,omitempty"`
	FromBase64 string `json:"from_base64,omitempty"`
	Directory  *bool  `json:"directory,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func (c *change) line(cursor int64) []byte {
	item := Item{Type: c.kind, Cursor: cursor, Reason: c.reason}
	item.Path, item.PathBase64 = text(c.path)
	item.From, item.FromBase64 = text(c.from)
	if c.path != "" {
		item.Directory = &c.directory
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(item) // every item can be encoded as JSON
	return []byte(b.String())
}

func text(path string) (valid, raw string) {
	if utf8.ValidString(path) {
		return path, ""
	}
	var b strings.Builder
	for _, r := range path { // yields U+FFFD for each invalid byte
		b.WriteRune(r)
	}
	return b.String(), base64.StdEncoding.EncodeToString([]byte(path))
}

const (
	maxChanges     = 16_384
	maxChangeBytes = 4 << 20
)

// history holds the last changes. A cursor counts them from a start that is later for each history.
// The cursor of a removed history is therefore recognized.
type history struct {
	mu      sync.Mutex
	changes []change
	first   int64 // cursor of the first change that is kept
	bytes   int
	shown   int64 // the largest cursor that was read
	ended   bool
	more    chan struct{}
}

func (h *history) begin() { h.first = time.Now().UnixMicro() }

func (h *history) last() int64 { return h.first + int64(len(h.changes)) - 1 }

// add adds a change. A repetition of the last change is left out if that was not read yet.
func (h *history) add(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	if n := len(h.changes); n > 0 && h.last() > h.shown && h.changes[n-1] == c && (c.kind == Modified || c.kind == Attributes || c.kind == Overflow) {
		return
	}
	h.changes = append(h.changes, c)
	h.bytes += sizeOf(&c)
	if len(h.changes) > maxChanges || h.bytes > maxChangeBytes {
		gone := len(h.changes) / 4
		for i := range h.changes[:gone] {
			h.bytes -= sizeOf(&h.changes[i])
		}
		h.changes = append([]change(nil), h.changes[gone:]...)
		h.first += int64(gone)
	}
	h.ended = c.kind == End
	if h.more != nil {
		close(h.more)
		h.more = nil
	}
}

func sizeOf(c *change) int { return 64 + len(c.path) + len(c.from) }

// batch is the number of changes that a reader gets at once.
const batch = 256

// read returns the changes after a cursor. lost is true if changes in between were dropped, and
// from is the cursor before the returned changes. If there are none, more is closed at the next
// change.
func (h *history) read(cursor int64) (changes []change, from int64, lost bool, more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cursor > h.last() { // of another history
		return nil, h.last(), true, nil
	}
	if cursor < h.first-1 {
		cursor, lost = h.first-1, true
	}
	if cursor == h.last() {
		if h.more == nil {
			h.more = make(chan struct{})
		}
		return nil, cursor, lost, h.more
	}
	at := int(cursor + 1 - h.first)
	n := min(batch, len(h.changes)-at)
	h.shown = max(h.shown, cursor+int64(n))
	return append([]change(nil), h.changes[at:at+n]...), cursor, lost, nil
}

func (h *history) end() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last()
}

func (h *history) hasEnded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}
