// Package operations remembers what requests that changed something were answered, so that one
// whose answer was lost is not done again.
package operations

import (
	"container/list"
	"context"
	"sync"
)

const (
	// maxRemembered is more than a host asks for while one of its answers is lost.
	maxRemembered = 1024
	// maxAnswerBytes has room for what a replacement tells of some hundred files. Of a longer
	// answer it is remembered that there was one.
	maxAnswerBytes = 64 << 10
	// maxBytes bounds the answers together: they are in the runtime's own memory.
	maxBytes = 4 << 20
)

// Answer is what a request was answered. Without a body it was too long to be remembered.
type Answer struct {
	Status int
	Body   []byte
}

// Progress is how far a request came that was given up on its way. Its handler alone touches it.
type Progress struct{ Bytes int64 }

type remembered struct {
	name     string
	answer   *Answer // nil where it was given up on its way
	progress Progress
}

// Memory holds the newest answers by the name of their operation.
type Memory struct {
	mu       sync.Mutex
	known    map[string]*list.Element // of *remembered
	order    *list.List               // the newest first
	bytes    int
	underWay map[string]chan struct{} // closed when it has ended
	// owner is another one after Forget: what began before is not remembered.
	owner int
}

// NewMemory has nothing in it.
func NewMemory() *Memory {
	m := &Memory{underWay: map[string]chan struct{}{}}
	m.clear()
	return m
}

func (m *Memory) clear() {
	m.known, m.order, m.bytes = map[string]*list.Element{}, list.New(), 0
}

// Forget empties the memory: the runtime has become another one, and what the one before was asked
// for is nobody's.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	m.owner++
}

// Do answers what the operation was answered before, or runs it. One that is under way is waited
// for. What fails is not remembered, but for how far it came: it runs when it is asked for again.
func (m *Memory) Do(ctx context.Context, name string, run func(*Progress) (Answer, error)) (Answer, error) {
	for {
		m.mu.Lock()
		var before Progress
		if e, ok := m.known[name]; ok {
			r := e.Value.(*remembered)
			if r.answer != nil {
				m.mu.Unlock()
				return *r.answer, nil
			}
			before = r.progress
		}
		first, busy := m.underWay[name]
		if !busy {
			ended, owner := make(chan struct{}), m.owner
			m.underWay[name] = ended
			m.mu.Unlock()
			return m.begin(name, before, owner, ended, run)
		}
		m.mu.Unlock()
		select {
		case <-first:
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
}

func (m *Memory) begin(name string, progress Progress, owner int, ended chan struct{}, run func(*Progress) (Answer, error)) (answer Answer, err error) {
	r := &remembered{name: name, progress: progress}
	defer func() { // also where run is a defect, and panics
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.underWay, name)
		close(ended)
		if owner == m.owner && (r.answer != nil || r.progress.Bytes > 0) {
			m.remember(r)
		}
	}()
	if answer, err = run(&r.progress); err != nil {
		return answer, err
	}
	short := answer
	if len(short.Body) > maxAnswerBytes {
		short.Body = nil
	}
	r.answer = &short
	return answer, nil
}

func (m *Memory) remember(r *remembered) {
	if e, ok := m.known[r.name]; ok {
		m.drop(e)
	}
	m.known[r.name] = m.order.PushFront(r)
	m.bytes += r.size()
	for m.order.Len() > maxRemembered || m.bytes > maxBytes {
		m.drop(m.order.Back())
	}
}

func (m *Memory) drop(e *list.Element) {
	r := m.order.Remove(e).(*remembered)
	delete(m.known, r.name)
	m.bytes -= r.size()
}

func (r *remembered) size() int {
	if r.answer == nil {
		return len(r.name)
	}
	return len(r.name) + len(r.answer.Body)
}
