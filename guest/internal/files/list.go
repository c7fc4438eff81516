package files

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

const (
	defaultLimit = 1000
	maxLimit     = 10_000
	maxDepth     = 64
)

// Listing is a part of a tree, in order.
type Listing struct {
	Entries []*Info `json:"entries"`
	More    bool    `json:"more"`
}

// Query selects the part of a tree to list.
type Query struct {
	Path  string
	Depth int    // 1: only the directory itself
	Limit int    // 0: the default
	After string // the path, relative to Path, of the last entry of the previous listing
	Facts Facts
}

// List returns the entries below a directory: depth-first, each directory before its content,
// siblings in byte order of their names. It holds at most about Limit names of a directory in
// memory.
func List(ctx context.Context, q Query) (*Listing, error) {
	if err := CheckPath(q.Path); err != nil {
		return nil, err
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if q.Depth < 1 || q.Depth > maxDepth || q.Limit < 1 || q.Limit > maxLimit {
		return nil, fault.New(fault.InvalidRequest, "depth must be 1 to %d, and limit 1 to %d", maxDepth, maxLimit)
	}
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, q.Path)
	if err != nil {
		return nil, fault.AtPath(q.Path, err)
	}
	l := &lister{ctx: ctx, limit: q.Limit, facts: q.Facts, out: Listing{Entries: []*Info{}}}
	var after []string
	if q.After != "" {
		after = strings.Split(q.After, "/")
	}
	if err := l.directory(fd, strings.TrimSuffix(q.Path, "/"), q.Depth, after); err != nil {
		return nil, err
	}
	return &l.out, nil
}

type lister struct {
	ctx   context.Context
	limit int
	facts Facts
	out   Listing
}

// directory lists an open directory, which it closes. It skips entries up to and including after,
// whose first part is in this directory.
func (l *lister) directory(fd int, path string, depth int, after []string) error {
	defer unix.Close(fd)
	names, err := smallest(l.ctx, fd, l.limit+1-len(l.out.Entries), after)
	if err != nil {
		return fault.AtPath(path, err)
	}
	for _, name := range names {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		seen := len(after) > 0 && name == after[0]
		mayDescend := true
		if !seen {
			if len(l.out.Entries) == l.limit {
				l.out.More = true
				return nil
			}
			info, err := l.facts.infoAt(fd, name, path+"/"+name)
			if gone(err) {
				continue
			}
			if err != nil {
				return err
			}
			l.out.Entries = append(l.out.Entries, info)
			mayDescend = info.Type == "directory"
		}
		if depth > 1 && mayDescend {
			var below []string
			if seen {
				below = after[1:]
			}
			if err := l.descend(fd, name, path+"/"+name, depth-1, below); err != nil || l.out.More {
				return err
			}
		}
	}
	return nil
}

func (l *lister) descend(at int, name, path string, depth int, after []string) error {
	fd, err := fdtree.OpenDir(at, name)
	switch err {
	case nil:
		return l.directory(fd, path, depth, after)
	case unix.ENOTDIR, unix.ENOENT, unix.ELOOP: // not a directory, or removed meanwhile
		return nil
	default:
		return fault.AtPath(path, err)
	}
}

func gone(err error) bool {
	return err != nil && fault.As(err).Code == fault.PathNotFound
}

// smallest returns the first count names of a directory, in order, beginning with the first part of
// after.
func smallest(ctx context.Context, fd, count int, after []string) ([]string, error) {
	first := ""
	if len(after) > 0 {
		first = after[0]
		count++ // the first part of after may be among the names again
	}
	var names largestFirst
	err := fdtree.Each(fd, func(e fdtree.Entry) error {
		switch {
		case e.Name < first:
		case len(names) < count:
			heap.Push(&names, e.Name)
		case e.Name < names[0]:
			names[0] = e.Name
			heap.Fix(&names, 0)
		}
		return ctx.Err()
	})
	slices.SortFunc(names, cmp.Compare[string])
	return names, err
}

// largestFirst is a heap of names with the largest at the top.
type largestFirst []string

func (h largestFirst) Len() int           { return len(h) }
func (h largestFirst) Less(i, j int) bool { return h[i] > h[j] }
func (h largestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *largestFirst) Push(x any)        { *h = append(*h, x.(string)) }
func (h *largestFirst) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
