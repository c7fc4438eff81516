// Package operations remembers the answers to requests that changed something. If an answer was
// lost, the repeated request is not executed again.
package operations

import (
	"container/list"
	"context"
	"sync"
)

const (
	// maxRemembered is larger than the number of requests that a host sends while one answer is
	// lost.
	maxRemembered = 1024
	// maxAnswerBytes has room for a replacement in some hundred files. Of a longer answer only the
	// fact is remembered.
	maxAnswerBytes = 64 << 10
	// maxBytes limits all answers together, because they use the runtime's memory.
	maxBytes = 4 << 20
)

// Answer is the answer to a request. The body is nil if it was too long to be remembered.
type Answer struct {
	Status int
	Body   []byte
}

// Progress is the progress of a request that was given up. Only its handler uses it.
type Progress struct {
	Bytes int64
	// Unchanged is set by a request that changed nothing. Its answer is not remembered, because a
	// repetition may run again.
	Unchanged bool
}

type remembered struct {
	name     string
	answer   *Answer // nil if it was given up
	progress Progress
}

// Memory holds the newest answers by the name of their operation.
type Memory struct {
	mu       sync.Mutex
	known    map[string]*list.Element // of *remembered
	order    *list.List               // the newest first
	bytes    int
	underWay map[string]chan struct{} // closed when it ends
	// owner changes at Forget. Answers to earlier requests are then not remembered.
	owner int
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	m := &Memory{underWay: map[string]chan struct{}{}}
	m.clear()
	return m
}

func (m *Memory) clear() {
	m.known, m.order, m.bytes = map[string]*list.Element{}, list.New(), 0
}

// Forget clears the memory, because the runtime has a new identity. Operations of the earlier one
// are invalid.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	m.owner++
}

// Do returns the remembered answer of an operation, or runs it. It waits for a running operation of
// the same name. Of a failed operation only its progress is remembered, and it runs again at the
// next request. An operation that changed nothing runs again, too.
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
	defer func() { // also if run panics
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.underWay, name)
		close(ended)
		if owner == m.owner && (r.answer != nil || r.progress.Bytes > 0) {
			m.remember(r)
		}
	}()
	if answer, err = run(&r.progress); err != nil || r.progress.Unchanged {
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
