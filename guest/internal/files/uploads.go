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
	// maxPartials limits the number of incomplete uploads.
	maxPartials = 256
	// partialIdle is the time after which an idle incomplete upload is removed.
	partialIdle = time.Hour
	// maxRemembered is the number of complete uploads that are remembered, for clients that lost
	// the response.
	maxRemembered = 256
	// turnTimeout is the longest time that a part waits for the previous one. The handler of that
	// part may not have noticed yet that its client has disconnected.
	turnTimeout = 10 * time.Second
)

// Part is one part of an upload, which may have several, over connections that break.
type Part struct {
	Upload
	ID       string
	Offset   int64 // the size of the file before this part
	Complete bool  // true if this part completes the file
}

// Status is the progress of an upload.
type Status struct {
	UploadID    string `json:"upload_id"`
	Path        string `json:"path"`
	OffsetBytes int64  `json:"offset_bytes"`
	Completed   bool   `json:"completed"`
}

// Result is the result of a part: the progress or, if the upload is complete, the file.
type Result struct {
	Status  *Status
	Info    *Info
	Created bool
}

type uploadKey struct{ path, id string }

// partial is an incomplete upload: a hidden file in the directory of its destination.
type partial struct {
	turn     chan struct{} // held by the request that uses it
	dir      string
	name     string
	dev, ino uint64
	size     int64
	made     []string // directories that were made for it
	idle     *owntime.Timer
	gone     bool
}

// Uploads holds the incomplete uploads, and the last complete ones.
type Uploads struct {
	idle  time.Duration
	mu    sync.Mutex
	open  map[uploadKey]*partial
	done  map[uploadKey]int64 // sizes of complete uploads
	order []uploadKey         // of done, the oldest first
}

// NewUploads returns an empty set of uploads.
func NewUploads() *Uploads {
	return &Uploads{idle: partialIdle, open: map[uploadKey]*partial{}, done: map[uploadKey]int64{}}
}

// Status returns the progress of an upload. An unknown upload has the offset 0.
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

// Abort removes an incomplete upload. If there is none, that is success.
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

// Put writes one part and, if that completes the file, moves it into place. The bytes before an
// interruption are kept.
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

// isFinal returns true if an upload cannot continue after this failure. It can after an
// interruption of the body.
func isFinal(err error) bool {
	var f *fault.Fault
	return !errors.As(err, &f) || f.Code != fault.InvalidRequest && f.Code != fault.Conflict
}

func keyOf(path, id string) (uploadKey, error) {
	if err := CheckPath(path); err != nil {
		return uploadKey{}, err
	}
	if !charset.Only(id, 8, 64, charset.Alphanumeric+"_-") {
		return uploadKey{}, fault.New(fault.InvalidRequest, "upload_id must be 8 to 64 letters, digits, _ or -")
	}
	return uploadKey{path, id}, nil
}

// take waits for exclusive use of an upload, and returns nil if there is none. It takes a free
// upload even if the client has disconnected. All bytes of an interrupted body may have arrived
// before the handler begins, and they have to be kept.
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
	if p.gone { // completed or removed meanwhile
		<-p.turn
		return nil, nil
	}
	p.idle.Stop()
	return p, nil
}

// wait waits for an upload that another request uses.
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

// begin makes the hidden file of a new upload, which the caller may use exclusively.
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

// reopen opens the directory and the hidden file, and verifies that it is the same file.
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

// write writes a part and, if that completes the file, moves it into place.
func (u *Uploads) write(key uploadKey, p *partial, part *Part) (*Result, error) {
	dir, file, err := p.reopen()
	if err != nil {
		u.drop(key, p)
		return nil, fault.New(fault.Conflict, "%s: the bytes of upload %s are gone: begin again", key.path, key.id)
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

// finish moves a complete file into place.
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
	if targetDir != p.dir { // a symlink now leads elsewhere
		return nil, fault.New(fault.AlreadyExists, "%s: a symlink was put there meanwhile", part.Path)
	}
	if err := part.put(dir, p.name, dir, base); err != nil {
		return nil, err
	}
	u.forgetOpen(key, p)
	u.remember(key, p.size)
	info, err := infoAt(dir, base, part.Path)
	return &Result{Info: info, Created: existing == nil}, err
}

// drop removes an incomplete upload and the directories that were made for it.
func (u *Uploads) drop(key uploadKey, p *partial) {
	if p.gone {
		return
	}
	if dir, file, err := p.reopen(); err == nil {
		_ = unix.Unlinkat(dir, p.name, 0) // it may be gone already
		_ = file.Close()                  // the written bytes are discarded
		_ = unix.Close(dir)
	}
	made := parent{fd: -1, made: p.made}
	made.undo()
	u.forgetOpen(key, p)
}

// collect removes an idle upload, unless a request uses it now.
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

// forget must be called with the lock held.
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
