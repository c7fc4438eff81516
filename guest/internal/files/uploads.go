package files

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/charset"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
	"holt.dev/guest/internal/owntime"
)

const (
	// maxPartials bounds the uploads that are not complete.
	maxPartials = 256
	// partialIdle is how long one is kept that nothing comes for.
	partialIdle = time.Hour
	// maxRemembered is of how many complete uploads it is known that they are, for clients that
	// lost the answer.
	maxRemembered = 256
	// turnTimeout is how long a part waits for the one before it, which may not have noticed yet
	// that its client is gone.
	turnTimeout = 10 * time.Second
)

// Part is a part of an upload that may come in several, over connections that break.
type Part struct {
	Upload
	ID       string
	Offset   int64 // how much of the file came before
	Complete bool  // whether the file is whole with this part
}

// Status is how far an upload is.
type Status struct {
	UploadID    string `json:"upload_id"`
	Path        string `json:"path"`
	OffsetBytes int64  `json:"offset_bytes"`
	Completed   bool   `json:"completed"`
}

// Result is what came of a part: how far the upload is or, once it is complete, the file.
type Result struct {
	Status  *Status
	Info    *Info
	Created bool
}

type uploadKey struct{ path, id string }

// partial is an upload that is not complete: a hidden file beside its destination.
type partial struct {
	turn     chan struct{} // held by whoever works on it
	dir      string
	name     string
	dev, ino uint64
	size     int64
	made     []string // directories that were made for it
	idle     *owntime.Timer
	gone     bool
}

// Uploads are those of which parts have come.
type Uploads struct {
	idle  time.Duration
	mu    sync.Mutex
	open  map[uploadKey]*partial
	done  map[uploadKey]int64 // sizes of complete ones
	order []uploadKey         // of done, the oldest first
}

// NewUploads begins without any.
func NewUploads() *Uploads {
	return &Uploads{idle: partialIdle, open: map[uploadKey]*partial{}, done: map[uploadKey]int64{}}
}

// Status tells how far an upload is. One that is not known is at its beginning.
func (u *Uploads) Status(ctx context.Context, path, id string) (*Status, error) {
	key, err := keyOf(path, id)
	if err != nil {
		return nil, err
	}
	status := &Status{UploadID: id, Path: path}
	p, err := u.take(ctx, key)
	if err != nil {
		return nil, err
	}
	if p != nil {
		defer u.release(p)
		status.OffsetBytes = p.size
		return status, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	status.OffsetBytes, status.Completed = u.done[key]
	return status, nil
}

// Abort removes what has come of an upload. None is success.
func (u *Uploads) Abort(ctx context.Context, path, id string) error {
	key, err := keyOf(path, id)
	if err != nil {
		return err
	}
	p, err := u.take(ctx, key)
	if err != nil || p == nil {
		return err
	}
	defer u.release(p)
	u.drop(key, p)
	return nil
}

// Put takes one part and, where that makes the file whole, puts it in place. When a body breaks
// off, what came of it stays.
func (u *Uploads) Put(ctx context.Context, part Part) (*Result, error) {
	key, err := keyOf(part.Path, part.ID)
	if err != nil {
		return nil, err
	}
	p, err := u.take(ctx, key)
	if err != nil {
		return nil, err
	}
	if p == nil {
		if part.Offset != 0 {
			return nil, fault.New(fault.Conflict, "%s: upload %s has 0 bytes, not %d", part.Path, part.ID, part.Offset)
		}
		if p, err = u.begin(key, &part); err != nil {
			return nil, err
		}
	}
	defer u.release(p)
	if part.Offset != 0 && part.Offset != p.size {
		return nil, fault.New(fault.Conflict, "%s: upload %s has %d bytes, not %d", part.Path, part.ID, p.size, part.Offset)
	}
	result, err := u.write(key, p, &part)
	if err != nil && isFinal(err) {
		u.drop(key, p)
	}
	return result, fault.AtPath(part.Path, err)
}

// isFinal tells whether nothing can come of an upload after this failure: not so where only its
// body broke off.
func isFinal(err error) bool {
	var f *fault.Fault
	return !errors.As(err, &f) || f.Code != fault.InvalidRequest && f.Code != fault.Conflict
}

func keyOf(path, id string) (uploadKey, error) {
	if err := CheckPath(path); err != nil {
		return uploadKey{}, err
	}
	if !charset.Only(id, 8, 64, charset.Alphanumeric+"_-") {
		return uploadKey{}, fault.New(fault.InvalidRequest, "upload_id: 8 to 64 letters, digits, _ or -")
	}
	return uploadKey{path, id}, nil
}

// take waits for its turn with an upload; nil where there is none. One that is free it takes also
// for a client that is gone by now: what came of a body before it broke off may all be here before
// its handler begins, and is to be kept.
func (u *Uploads) take(ctx context.Context, key uploadKey) (*partial, error) {
	u.mu.Lock()
	p := u.open[key]
	u.mu.Unlock()
	if p == nil {
		return nil, nil
	}
	select {
	case p.turn <- struct{}{}:
	default:
		if err := p.wait(ctx, key); err != nil {
			return nil, err
		}
	}
	if p.gone { // it was completed or removed meanwhile
		<-p.turn
		return nil, nil
	}
	p.idle.Stop()
	return p, nil
}

// wait waits for an upload that somebody works on.
func (p *partial) wait(ctx context.Context, key uploadKey) error {
	limit := time.NewTimer(turnTimeout)
	defer limit.Stop()
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return fault.New(fault.Conflict, "%s: another request sends a part of upload %s", key.path, key.id)
	}
}

func (u *Uploads) release(p *partial) {
	if !p.gone {
		p.idle.Reset(u.idle)
	}
	<-p.turn
}

// begin makes the hidden file of a new upload, whose turn it has.
func (u *Uploads) begin(key uploadKey, part *Part) (*partial, error) {
	who, err := part.owner()
	if err != nil {
		return nil, err
	}
	target, _, err := part.target()
	if err != nil {
		return nil, err
	}
	dir, _ := split(target)
	parent, err := openParent(dir, who)
	if err != nil {
		return nil, err
	}
	defer parent.close()
	p := &partial{turn: make(chan struct{}, 1), dir: dir, name: ".holt-upload-" + key.id, made: parent.made}
	p.turn <- struct{}{}
	p.idle = owntime.AfterFunc(u.idle, func() { u.collect(key, p) })
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.open) >= maxPartials {
		err = fault.New(fault.Conflict, "there are %d uploads that are not complete: finish or abort some", maxPartials)
	} else if u.open[key] != nil {
		err = fault.New(fault.Conflict, "%s: another request begins upload %s", key.path, key.id)
	} else {
		err = p.create(parent.fd)
	}
	if err != nil {
		p.idle.Stop()
		parent.undo()
		return nil, fault.AtPath(key.path, err)
	}
	u.forget(key)
	u.open[key] = p
	return p, nil
}

func (p *partial) create(dir int) error {
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, p.name, flags, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	p.dev, p.ino = st.Dev, st.Ino
	return nil
}

// reopen opens the hidden file again, and its directory; it has to be the one that was made.
func (p *partial) reopen() (dir int, file *os.File, err error) {
	dir, err = fdtree.OpenDirFollow(unix.AT_FDCWD, p.dir)
	if err != nil {
		return -1, nil, err
	}
	fd, err := unix.Openat(dir, p.name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	var st unix.Stat_t
	if err == nil {
		if err = unix.Fstat(fd, &st); err == nil && (st.Dev != p.dev || st.Ino != p.ino || st.Size < p.size) {
			err = unix.ESTALE
		}
		if err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		_ = unix.Close(dir)
		return -1, nil, err
	}
	return dir, os.NewFile(uintptr(fd), p.name), nil
}

// write adds a part's bytes and, if the file is whole then, puts it in place.
func (u *Uploads) write(key uploadKey, p *partial, part *Part) (*Result, error) {
	dir, file, err := p.reopen()
	if err != nil {
		u.drop(key, p)
		return nil, fault.New(fault.Conflict, "%s: what had come of upload %s is gone: begin again", key.path, key.id)
	}
	defer unix.Close(dir)
	defer file.Close()
	fd := int(file.Fd())
	if err := unix.Ftruncate(fd, part.Offset); err != nil {
		return nil, err
	}
	if _, err := unix.Seek(fd, part.Offset, io.SeekStart); err != nil {
		return nil, err
	}
	p.size = part.Offset
	sum := part.hash()
	err = receive(fd, part.Body, sum)
	if size, seeking := unix.Seek(fd, 0, io.SeekCurrent); seeking == nil {
		p.size = size
	}
	if err != nil {
		return nil, err
	}
	var arrived []byte
	if sum != nil {
		arrived = sum.Sum(nil)
		if err := part.Digests.check(part.Path, part.Digests.Part, arrived); err != nil {
			return nil, err
		}
	}
	if !part.Complete {
		return &Result{Status: &Status{UploadID: key.id, Path: key.path, OffsetBytes: p.size}}, nil
	}
	if part.Offset > 0 && part.Digests.Whole != nil {
		if arrived, err = digestOf(file); err != nil {
			return nil, err
		}
	}
	if err := part.Digests.check(part.Path, part.Digests.Whole, arrived); err != nil {
		return nil, err
	}
	return u.finish(key, p, part, dir, fd)
}

func digestOf(file *os.File) ([]byte, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	pooled := transferBuffers.Get().(*[]byte)
	defer transferBuffers.Put(pooled)
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, struct{ io.Reader }{file}, *pooled); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}

// finish puts a file that is whole in its place.
func (u *Uploads) finish(key uploadKey, p *partial, part *Part, dir, fd int) (*Result, error) {
	who, err := part.owner()
	if err != nil {
		return nil, err
	}
	target, existing, err := part.target()
	if err != nil {
		return nil, err
	}
	targetDir, base := split(target)
	mode, who := part.attributes(existing, who)
	if err := dressFile(fd, mode, who); err != nil {
		return nil, err
	}
	if targetDir != p.dir { // a symlink leads elsewhere now
		return nil, fault.New(fault.AlreadyExists, "%s: a symlink was put there meanwhile", part.Path)
	}
	if err := place(dir, p.name, dir, base, !part.CreateOnly); err != nil {
		return nil, err
	}
	u.forgetOpen(key, p)
	u.remember(key, p.size)
	info, err := infoAt(dir, base, part.Path)
	return &Result{Info: info, Created: existing == nil}, err
}

// drop removes what has come of an upload, with the directories that were made for it.
func (u *Uploads) drop(key uploadKey, p *partial) {
	if p.gone {
		return
	}
	if dir, file, err := p.reopen(); err == nil {
		_ = unix.Unlinkat(dir, p.name, 0) // gone is what is wanted
		_ = file.Close()                  // and nobody needs what was written
		_ = unix.Close(dir)
	}
	made := parent{fd: -1, made: p.made}
	made.undo()
	u.forgetOpen(key, p)
}

// collect removes an upload that nothing has come for, unless something comes right now.
func (u *Uploads) collect(key uploadKey, p *partial) {
	select {
	case p.turn <- struct{}{}:
		u.drop(key, p)
		<-p.turn
	default:
	}
}

func (u *Uploads) forgetOpen(key uploadKey, p *partial) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p.gone = true
	p.idle.Stop()
	delete(u.open, key)
}

func (u *Uploads) remember(key uploadKey, size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget(key)
	u.done[key] = size
	u.order = append(u.order, key)
	if len(u.order) > maxRemembered {
		delete(u.done, u.order[0])
		u.order = u.order[1:]
	}
}

// forget is called with the lock held.
func (u *Uploads) forget(key uploadKey) {
	if _, ok := u.done[key]; !ok {
		return
	}
	delete(u.done, key)
	for i, other := range u.order {
		if other == key {
			u.order = append(u.order[:i], u.order[i+1:]...)
			return
		}
	}
}
