package listing

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"holt.dev/guest/internal/archive"
)

const (
	// maxBaselines limits the baselines in memory, which forks inherit.
	maxBaselines = 8
	// maxBaselineBytes limits one baseline, and maxAllBytes all of them. Both count compressed
	// bytes.
	maxBaselineBytes = 8 << 20
	maxAllBytes      = 16 << 20
	// maxKeptFile limits a file whose content is in a baseline, and maxKeptBytes all such content.
	maxKeptFile  = 64 << 10
	maxKeptBytes = 4 << 20
	// maxDigested limits the bytes that are read for digests alone.
	maxDigested = 16 << 20
	// takeTimeout limits the time of a baseline, because the checkpoint waits for it.
	takeTimeout = 10 * time.Second
)

var errTooLarge = errors.New("the baseline is too large")

// Baselines are listings of the whole tree, each made just before a checkpoint. They are part of
// the memory, so a restored runtime has them, and can tell what has changed since the checkpoint.
type Baselines struct {
	mu     sync.Mutex
	all    []baseline // the oldest first
	latest string     // of the last checkpoint; empty if that has none
	origin string     // of the checkpoint from which the runtime was made
}

type baseline struct {
	id   string
	data []byte // records, compressed (RFC 1951)
}

// Take lists the tree and keeps the records under an id. It returns false if they are too large, or
// if the listing takes too long.
func (b *Baselines) Take(ctx context.Context, id string, rules *archive.Rules) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &limitedBuffer{}
	packed, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	tree := Tree{Path: "/", Prune: true, Rules: rules, Keep: &Keep{content: maxKeptBytes, digested: maxDigested}}
	if err = tree.Write(limited, packed); err == nil {
		err = packed.Close()
	}
	if errors.Is(err, errTooLarge) || ctx.Err() == nil && limited.Err() != nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b.all = slices.DeleteFunc(b.all, func(each baseline) bool { return each.id == id })
	b.all = append(b.all, baseline{id, bytes.Clone(out.Bytes())})
	b.evict()
	return true, nil
}

// Use notes the baseline of the checkpoint that follows. It has none if the id is empty.
func (b *Baselines) Use(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest = id
}

// evict forgets the oldest baselines above the limits, but never the origin or the newest one.
func (b *Baselines) evict() {
	total := 0
	for _, each := range b.all {
		total += len(each.data)
	}
	for i := 0; i < len(b.all)-1 && (len(b.all) > maxBaselines || total > maxAllBytes); {
		if each := b.all[i]; each.id != b.origin {
			total -= len(each.data)
			b.all = slices.Delete(b.all, i, i+1)
		} else {
			i++
		}
	}
}

// Adopt makes the baseline of the last checkpoint the origin. The runtime has become another one.
func (b *Baselines) Adopt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.origin = b.latest
}

// Open returns the records of a baseline. Without an id it is the origin. It returns nil if there
// is none.
func (b *Baselines) Open(id string) io.ReadCloser {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id == "" {
		id = b.origin
	}
	for _, each := range b.all {
		if each.id == id {
			return flate.NewReader(bytes.NewReader(each.data))
		}
	}
	return nil
}

// limitedBuffer is a buffer that refuses more bytes than a baseline may have.
type limitedBuffer struct{ bytes.Buffer }

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxBaselineBytes {
		return 0, errTooLarge
	}
	return l.Buffer.Write(p)
}
